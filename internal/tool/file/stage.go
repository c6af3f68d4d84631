package file

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// stagedStep is a fileStep that is ready to be committed: its directory is open, and its new content is in a temporary
// file.
type stagedStep struct {
	*fileStep
	dir  *os.Root
	name string
	temp string // name of the temporary file; "" if the file is removed or must be overwritten in place
}

// stageStep prepares a step. It makes missing directories. The temporary file gets the mode and, if permitted, the
// owner of the old file. If that has other names (hard links), or the directory forbids new files, the old file will be
// overwritten in place.
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
	if st.removed || fileattr.CountLinks(st.before.info) > 1 {
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

// discard removes the temporary file of a step that was not committed, and closes the directory.
func (s *stagedStep) discard() {
	if s.temp != "" {
		_ = s.dir.Remove(s.temp)
	}
	_ = s.dir.Close()
}

// commit makes the change. A mount point cannot be renamed over and is overwritten in place.
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

// undoStep restores the file as it was before the step.
func (s *stagedStep) undoStep() error {
	if s.before.info == nil {
		if s.removed {
			return nil
		}
		return s.dir.Remove(s.name)
	}
	if !s.removed && fileattr.CountLinks(s.before.info) > 1 {
		return overwriteFile(s.dir, s.name, s.before.data, s.before.info)
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

// checkUnchanged returns an error unless name still is the file that old describes.
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

// writeTempFile writes a temporary file with the mode and the owner of old and returns its name.
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
		fileattr.CopyOwner(dir, temp, old)
		err = dir.Chmod(temp, old.Mode().Perm())
	}
	if err != nil {
		_ = dir.Remove(temp)
		return "", err
	}
	return temp, nil
}

// overwriteFile overwrites a file in place, as the last resort: if it fails in between, the old content is lost.
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
