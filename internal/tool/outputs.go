package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/cutrune"
	"github.com/cairn-dev/cairn/internal/session"
)

// Defaults of Outputs (docs/adr/0011).
const (
	MaxOutputFile = 4 << 30            // bytes of one file
	OutputAge     = 7 * 24 * time.Hour // since the last write
	maxReserve    = 1 << 30            // upper bound of Outputs.Reserve
)

// Outputs is the folder of managed output files. Each contains the output of one call beyond the limits; its name
// contains the session that owns it. Files are created exclusively with mode 0600 in a folder of mode 0700. Safe for
// concurrent use. Only Dir must be set.
type Outputs struct {
	Dir string // absolute; made when first needed
	IDs *session.IDs
	Log *slog.Logger // nil logs nothing

	File    int64 // bytes of one file, default MaxOutputFile; all files together may have twice as many
	Reserve int64 // bytes of the disk that stay free; default 1 GiB or a tenth of a small disk

	mu      sync.Mutex // guards ids, written and open
	ids     session.IDs
	written int64           // bytes since the last RemoveOld
	open    map[string]bool // files that are being written; RemoveOld keeps them
}

func (o *Outputs) maxFile() int64 { return cmp.Or(o.File, MaxOutputFile) }

// maxAll returns the bytes that all files may have together.
func (o *Outputs) maxAll() int64 { return 2 * o.maxFile() }

// reservedSpace returns the bytes that stay free on the file's disk.
func (o *Outputs) reservedSpace(f *os.File) int64 {
	return cmp.Or(o.Reserve, min(maxReserve, diskSize(f)/10))
}

// createFile creates a managed file of the session.
func (o *Outputs) createFile(id session.ID) (*os.File, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for tool output: %w", err)
	}
	ids := &o.ids
	if o.IDs != nil {
		ids = o.IDs
	}
	name := filepath.Join(o.Dir, ids.New(session.PrefixTool)+fileSuffix(id))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a tool output file: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[string]bool{}
	}
	o.open[filepath.Base(name)] = true
	return f, nil
}

// List returns the files of a session.
func (o *Outputs) List(id session.ID) (paths []string) {
	if fileSuffix(id) == "" {
		return nil
	}
	entries, _ := os.ReadDir(o.Dir) // made when first needed
	for _, e := range entries {
		if fileOwner(e.Name()) == id {
			paths = append(paths, filepath.Join(o.Dir, e.Name()))
		}
	}
	return paths
}

// releaseFile records that a file is not written any more.
func (o *Outputs) releaseFile(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, filepath.Base(path))
}

func (o *Outputs) isOpen(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[name]
}

// fileSuffix returns the part of a file name that contains the session. It is "" for an ID that not every file system
// accepts; such a file is removed by its age.
func fileSuffix(id session.ID) string {
	unfit := func(c rune) bool {
		return c > 'z' || !strings.ContainsRune("-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", c)
	}
	if id == "" || strings.ContainsFunc(string(id), unfit) {
		return ""
	}
	return ownedBy + string(id)
}

// ownedBy separates the ID of a file from that of its session.
const ownedBy = "-"

// fileOwner returns the session that owns a managed file, "" if the name does not contain it.
func fileOwner(name string) session.ID {
	_, id, _ := strings.Cut(name, ownedBy)
	return session.ID(id)
}

// countWritten counts stored bytes and calls RemoveOld after each eighth of the folder's allowance.
func (o *Outputs) countWritten(ctx context.Context, n int64) {
	o.mu.Lock()
	o.written += n
	due := o.written > o.maxAll()/8
	if due {
		o.written = 0
	}
	o.mu.Unlock()
	if !due {
		return
	}
	if err := o.RemoveOld(ctx, time.Now()); err != nil && o.Log != nil {
		o.Log.WarnContext(ctx, "old tool output could not be removed", "error", err)
	}
}

// RemoveOld removes files that were last written more than OutputAge before now, then the oldest until the rest fits
// the allowance. It touches only regular files with names of this package that are not being written. Call it at start
// and every hour.
func (o *Outputs) RemoveOld(ctx context.Context, now time.Time) error {
	entries, err := os.ReadDir(o.Dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep tool output: %w", err)
	}
	// Remove what is too old, and measure the rest. Open files count but stay.
	var kept []fs.FileInfo
	var total int64
	var failed error // the first failure; removal goes on
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := e.Info()
		if err != nil || !isManagedFile(info) {
			continue
		}
		total += info.Size()
		switch {
		case o.isOpen(info.Name()):
		case now.Sub(info.ModTime()) > OutputAge:
			total -= info.Size()
			failed = cmp.Or(failed, o.removeFile(info))
		default:
			kept = append(kept, info)
		}
	}
	// Then remove the oldest.
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if total <= o.maxAll() {
			break
		}
		failed = cmp.Or(failed, o.removeFile(info))
		total -= info.Size()
	}
	return failed
}

// Remove removes the managed files of a session, and those at the paths, if isUnused reports true for the session that owns
// the file, "" if its name does not contain one. It calls isUnused once for each. Paths that are not managed files are ignored.
func (o *Outputs) Remove(id session.ID, paths []string, isUnused func(owner session.ID) (bool, error)) error {
	var failed error // the first failure; removal goes on
	known := map[session.ID]bool{}
	for _, p := range slices.Concat(o.List(id), paths) {
		if filepath.Dir(p) != filepath.Clean(o.Dir) {
			continue
		}
		info, err := os.Lstat(p)
		if err != nil || !isManagedFile(info) {
			continue
		}
		owner := fileOwner(info.Name())
		if _, asked := known[owner]; !asked {
			unused, err := isUnused(owner)
			failed = cmp.Or(failed, err)
			known[owner] = unused && err == nil // if isUnused fails, the file stays
		}
		if known[owner] {
			failed = cmp.Or(failed, o.removeFile(info))
		}
	}
	return failed
}

// Read returns at most n bytes of a managed file from an offset on, and the offset behind them. A negative offset
// counts from the end. The text ends at a character and, for a negative offset, begins at one. For any other path the
// file does not exist.
func (o *Outputs) Read(path string, offset int64, n int) (text []byte, next int64, err error) {
	// Only regular files directly in the folder are outputs; anything else does not exist.
	info, err := os.Lstat(path)
	if err == nil && (filepath.Dir(path) != filepath.Clean(o.Dir) || !isManagedFile(info)) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	defer func() { _ = f.Close() }()
	// Convert an offset from the end to one from the start.
	fromEnd := offset < 0
	if fromEnd {
		offset = max(0, info.Size()+offset)
	}
	text = make([]byte, n)
	read, err := f.ReadAt(text, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	// An offset from the end may fall into a character: begin at the next one. A positive offset came from an
	// earlier Read and stands at a character.
	text = text[:read]
	if fromEnd && offset > 0 {
		begin := runeAfter(text, 0)
		text, offset = text[begin:], offset+int64(begin)
	}
	// Leave an incomplete last character for the next Read.
	text = text[:len(text)-cutrune.SuffixLen(text)]
	return text, offset + int64(len(text)), nil
}

// RemoveOrphans removes the files of sessions that do not exist. It calls gone once for each session that owns a file.
// Files last written since before stay.
func (o *Outputs) RemoveOrphans(ctx context.Context, before time.Time, gone func(session.ID) (bool, error)) error {
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("look for tool output of sessions that are gone: %w", err)
	}
	var failed error // the first failure; removal goes on
	known := map[session.ID]bool{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id := fileOwner(e.Name())
		if id == "" {
			continue
		}
		orphan, asked := known[id]
		if !asked {
			is, err := gone(id)
			failed = cmp.Or(failed, err)
			orphan = is && err == nil // if gone fails, the file stays
			known[id] = orphan
		}
		info, err := e.Info()
		if err == nil && orphan && isManagedFile(info) && info.ModTime().Before(before) {
			failed = cmp.Or(failed, o.removeFile(info))
		}
	}
	return failed
}

// isManagedFile reports whether a file has a name and a type of this package.
func isManagedFile(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && strings.HasPrefix(info.Name(), string(session.PrefixTool)+"_")
}

func (o *Outputs) removeFile(info fs.FileInfo) error {
	err := os.Remove(filepath.Join(o.Dir, info.Name()))
	if err == nil || os.IsNotExist(err) {
		return nil
	}
	return fmt.Errorf("sweep tool output: %w", err)
}

// Save stores the text in a managed file of the session and returns its path.
func (o *Outputs) Save(id session.ID, text string) (path string, err error) {
	f, err := o.createFile(id)
	if err != nil {
		return "", err
	}
	defer o.releaseFile(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("store an output: %w", err), os.Remove(f.Name()))
	}
	o.countWritten(context.Background(), int64(len(text)))
	return f.Name(), nil
}
