package file

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// stagedStep is a step that is ready to happen: its directory is open, its new content lies beside the file.
type stagedStep struct {
	*fileStep
	dir  *os.Root
	name string
	temp string // the new content; "" if there is none, or the file must be overwritten in place
}

// stageStep prepares a step. Missing directories are made. The new content gets the mode and, where allowed, the owner
// of the old. Where the directory forbids another file, the old one will be overwritten in place.
func stageStep(st *fileStep) (*stagedStep, error) {
	dir, err := st.path.OpenParent(!st.removed)
	if err != nil {
		return nil, err
	}
	s := &stagedStep{fileStep: st, dir: dir, name: filepath.Base(st.path.Real)}
	if err := checkUnchanged(dir, s.name, st.before.info); err != nil {
		s.discard()
		return nil, err
	}
	if st.removed {
		return s, nil
	}
	like := st.before.info
	if like == nil {
		like = st.template
	}
	s.temp, err = writeTempFile(dir, st.after, like)
	if st.before.info != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return s, nil
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// discard removes what was staged and did not happen.
func (s *stagedStep) discard() {
	if s.temp != "" {
		_ = s.dir.Remove(s.temp)
	}
	_ = s.dir.Close()
}

// commit makes the step happen. A mount on the file forbids renaming; then it is overwritten in place.
func (s *stagedStep) commit() error {
	if s.removed {
		if s.before.info == nil {
			return nil
		}
		return s.dir.Remove(s.name)
	}
	if s.temp == "" {
		return overwriteFile(s.dir, s.name, s.after, s.before.info)
	}
	err := s.dir.Rename(s.temp, s.name)
	if s.before.info != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY)) {
		return overwriteFile(s.dir, s.name, s.after, s.before.info)
	}
	if err == nil {
		s.temp = ""
	}
	return err
}

// undo makes the file what it was before the step.
func (s *stagedStep) undo() error {
	if s.before.info == nil {
		if s.removed {
			return nil
		}
		return s.dir.Remove(s.name)
	}
	temp, err := writeTempFile(s.dir, s.before.data, s.before.info)
	if err == nil {
		if err = s.dir.Rename(temp, s.name); err == nil {
			return nil
		}
		_ = s.dir.Remove(temp)
	}
	now, statErr := s.dir.Lstat(s.name)
	if statErr != nil {
		return errors.Join(err, statErr)
	}
	return overwriteFile(s.dir, s.name, s.before.data, now)
}

// checkUnchanged makes sure that name still is the file that old describes.
func checkUnchanged(dir *os.Root, name string, old fs.FileInfo) error {
	now, err := dir.Lstat(name)
	switch {
	case old == nil && os.IsNotExist(err):
		return nil
	case old == nil || err != nil || !os.SameFile(old, now) || !now.Mode().IsRegular():
		return workpath.FailMoved(filepath.Join(dir.Name(), name))
	default:
		return nil
	}
}

// writeTempFile writes a file with the mode and the owner of old and returns its name.
func writeTempFile(dir *os.Root, data []byte, old fs.FileInfo) (string, error) {
	temp := ".cairn-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && old != nil {
		copyOwner(dir, temp, old)
		err = dir.Chmod(temp, old.Mode().Perm())
	}
	if err != nil {
		_ = dir.Remove(temp)
		return "", err
	}
	return temp, nil
}

// overwriteFile writes in place. Should that fail half way, the old content is gone; it is the last resort.
func overwriteFile(dir *os.Root, name string, data []byte, old fs.FileInfo) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(old, now) {
		_ = f.Close()
		return workpath.FailMoved(name)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	return errors.Join(err, f.Close())
}
