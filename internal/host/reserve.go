package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
)

// reserveBytes is the room of the disk that a file keeps for deletions on a full one. A deletion writes what it overwrites
// to the log of the database first, so it is enough for a session of about this size.
const reserveBytes = 2 << 20

func reserveFile(data string) string { return filepath.Join(data, "reserve") }

// keepReserve makes the reserve of a data directory, unless there is a whole one or the disk is nearly full. One of another
// size is left from a process that ended before it had allocated it, and is made anew. The owner of the data calls it.
func keepReserve(data string) error {
	if free, ok := fileattr.FreeSpace(data); !ok || free < minFreeDisk+reserveBytes {
		return nil
	}
	file := reserveFile(data)
	info, err := os.Lstat(file)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Size() == reserveBytes:
		return nil
	case err == nil:
		err = os.Remove(file)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(fileattr.Allocate(f, reserveBytes), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// makeRoom frees space of a full disk for a deletion: first that of the search index, which is rebuilt when there is room
// again, then the reserve. It reports whether it freed something. dropIndex removes the index.
func makeRoom(data string, dropIndex func() error) bool {
	if info, err := os.Lstat(searchindex.File(data)); err == nil && info.Mode().IsRegular() && dropIndex() == nil {
		return true
	}
	return os.Remove(reserveFile(data)) == nil
}

// makeRoom is makeRoom of the owner's data.
func (w *owner) makeRoom() bool {
	isFreed := makeRoom(w.dirs.Data, func() error {
		if w.search != nil {
			return w.search.index.Drop()
		}
		return searchindex.Remove(w.dirs.Data)
	})
	if isFreed {
		w.logger.Warn("the disk is full; the search index or the reserve was removed for a deletion", "data", w.dirs.Data)
	}
	return isFreed
}

// makeRoomAfter is makeRoom if the cause of a failure is a full disk.
func (w *owner) makeRoomAfter(cause error) bool { return isFullDisk(cause) && w.makeRoom() }
