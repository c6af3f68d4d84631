package snapshot

import (
	"crypto/sha1" //nolint:gosec // git's names of contents
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairn-dev/cairn/internal/session"
)

// The modes of what is not stored or restored, besides submodules. modeOther is that of pipes, sockets and devices.
const (
	modeDirectory uint32 = 0o040000
	modeOther     uint32 = 0o010000
)

// readState returns what a path holds. A path below a file or a link holds nothing. A path outside of the root is an
// error.
func readState(root *os.Root, name string) (session.PathState, error) {
	// The path must be inside of the root and not lead through links.
	if !filepath.IsLocal(name) {
		return session.PathState{}, fmt.Errorf("the path %q is outside of the worktree", name)
	}
	if err := checkParents(root, name); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return session.PathState{}, nil
		}
		return session.PathState{}, err
	}
	// Only the content of a file or a link is read; for other types, the mode is enough.
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return session.PathState{}, nil
	case err != nil:
		return session.PathState{}, err
	case info.IsDir():
		return session.PathState{Mode: modeDirectory}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return session.PathState{Blob: blobID([]byte(target)), Mode: session.ModeLink}, err
	case !info.Mode().IsRegular():
		return session.PathState{Mode: modeOther}, nil
	}
	// Open the file, which may have been replaced meanwhile, and hash it as git does.
	f, err := openRegular(root, name)
	if err != nil {
		return session.PathState{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return session.PathState{}, err
	}
	h := sha1.New() //nolint:gosec // git's names of contents
	writeHeader(h, info.Size())
	if n, err := io.Copy(h, f); err != nil || n != info.Size() {
		return session.PathState{}, errors.Join(err, fmt.Errorf("%s changes while it is read", name))
	}
	return session.PathState{Blob: hex.EncodeToString(h.Sum(nil)), Mode: modeOf(info)}, nil
}

// checkParents returns an error unless everything above the name is a directory. A link is refused, so that no file is
// read or written through it.
func checkParents(root *os.Root, name string) error {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(name[:i])
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &fs.PathError{Op: "open", Path: name[:i], Err: syscall.ENOTDIR}
		}
	}
	return nil
}

// openRegular opens a regular file for reading. It does not block on a pipe.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close(), fmt.Errorf("%s is not a regular file", name))
	}
	return f, nil
}

func modeOf(info fs.FileInfo) uint32 {
	if info.Mode()&0o100 != 0 {
		return session.ModeExecutable
	}
	return session.ModeFile
}

// readContent returns the content of a file, at most MaxBlob bytes, or the target of a link.
func readContent(root *os.Root, name string, mode uint32) ([]byte, error) {
	if mode == session.ModeLink {
		target, err := root.Readlink(name)
		return []byte(target), err
	}
	f, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxBlob+1))
	if err == nil && len(content) > MaxBlob {
		err = fmt.Errorf("%w: more than %d MiB", ErrTooLarge, MaxBlob>>20)
	}
	return content, err
}

// saveFile stores the content that a path holds, and returns its state. Without a file or link it stores nothing.
func saveFile(root *os.Root, blobs *Blobs, name string) (session.PathState, error) {
	state, err := readState(root, name)
	if err != nil || state.Blob == "" {
		return state, err
	}
	content, err := readContent(root, name, state.Mode)
	if err != nil {
		return state, err
	}
	blob, err := blobs.Put(content)
	return session.PathState{Blob: blob, Mode: state.Mode}, err
}
