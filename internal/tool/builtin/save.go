package builtin

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairn-dev/cairn/internal/tool"
)

// save gives the file its new content at once: nobody ever sees half of it. The new content is written beside the file
// and renamed over it; mode and, where allowed, owner are kept. Missing directories are made. old is what was there,
// nil if nothing was. Where the directory or a mount forbids the renaming, the file is overwritten in place.
func (p place) save(data []byte, old fs.FileInfo) (fs.FileInfo, error) {
	dir, err := p.enter(true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Base(p.real)
	if err := unchanged(dir, name, old); err != nil {
		return nil, err
	}
	err = replaceFile(dir, name, data, old)
	if old != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS)) {
		err = overwrite(dir, name, data, old)
	}
	if err != nil {
		return nil, tool.Failf("%s could not be written: %v. It is as it was before.", p.abs, cause(err))
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, openFailure(p.abs, err)
	}
	return info, nil
}

// unchanged makes sure that name still is the file that old describes.
func unchanged(dir *os.Root, name string, old fs.FileInfo) error {
	now, err := dir.Lstat(name)
	switch {
	case old == nil && os.IsNotExist(err):
		return nil
	case old == nil || err != nil || !os.SameFile(old, now) || !now.Mode().IsRegular():
		return moved(filepath.Join(dir.Name(), name))
	default:
		return nil
	}
}

func replaceFile(dir *os.Root, name string, data []byte, old fs.FileInfo) error {
	temp := ".cairn-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && old != nil {
		keepOwner(dir, temp, old)
		err = dir.Chmod(temp, old.Mode().Perm())
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// overwrite writes in place. Should that fail half way, the old content is gone; it is the last resort.
func overwrite(dir *os.Root, name string, data []byte, old fs.FileInfo) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(old, now) {
		_ = f.Close()
		return moved(name)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	return errors.Join(err, f.Close())
}
