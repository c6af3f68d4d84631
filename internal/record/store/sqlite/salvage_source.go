package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// openDamaged returns a connection to the home's data. While a process owns the home, it reads the database in
// place; otherwise, or if that fails, it reads a copy in the folder scratch, because opening alone would change
// files of the home. Without committed events it reads a copy in any case, since the owner does not write then, and
// what is whole behind the damage of its log.
func (h *home) openDamaged(scratch string, record *commitRecord) (dbConn, error) {
	if h.isOwned() {
		if conn, err := h.openComplete(record); err == nil {
			return conn, nil
		}
	}
	c := &home{dir: scratch, path: filepath.Join(scratch, dbName)}
	if err := h.copyTo(c); err != nil {
		return nil, err
	}
	if conn, err := c.openComplete(record); err == nil {
		return conn, nil
	}
	if record != nil {
		if err := errors.Join(removeAny(c.path+"-shm"), rejoinLog(c.path+logSuffix)); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("rejoin the log of the damaged database: %w", err)
		}
	}
	if conn, err := c.open(forReading, readerPragmas); err == nil {
		if err := beginSnapshot(conn); err == nil {
			return conn, execute(conn, "COMMIT")
		}
		_ = conn.Close()
	}
	// The log is unusable; the database itself may still be readable.
	return c.open(forReadingRaw, readerPragmas)
}

// openComplete opens the database, and fails if it lacks events of the record.
func (h *home) openComplete(record *commitRecord) (dbConn, error) {
	open, err := h.findReader()
	if err != nil {
		return nil, err
	}
	conn, err := open()
	if err != nil {
		return nil, err
	}
	if _, err := record.findMissing(conn, h.dir); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// removeAny removes a file that may be missing.
func removeAny(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// isOwned reports whether a process owns the folder. It writes nothing.
func (h *home) isOwned() bool {
	f, err := os.Open(filepath.Join(h.dir, leaseName))
	if err != nil {
		return false
	}
	defer f.Close() // gives the lock up again
	locked, err := lockFile(f, false)
	return err == nil && !locked
}

// copyTo copies the database and its log, and extends the copy to the length in its header: SQLite refuses a
// truncated database completely, even if only some pages are missing.
func (h *home) copyTo(c *home) error {
	if err := makeDir(c.dir); err != nil {
		return err
	}
	if err := copyFile(h.path, c.path); err != nil {
		return fmt.Errorf("copy the damaged database: %w", err)
	}
	if err := copyFile(h.path+logSuffix, c.path+logSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("copy the log of the damaged database: %w", err)
	}
	return padToHeader(c.path)
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// maxCut bounds the pages added for missing ones, in case the header is damaged too.
const maxCut = 1 << 22

// padToHeader extends the file with empty pages to the number of pages in its header.
func padToHeader(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var header [32]byte
	info, err := f.Stat()
	if err == nil && info.Size() >= int64(len(header)) {
		_, err = f.ReadAt(header[:], 0)
		pages := int64(binary.BigEndian.Uint32(header[28:]))
		size := int64(binary.BigEndian.Uint16(header[16:]))
		if want := pages * size; err == nil && pages < maxCut && want > info.Size() {
			err = f.Truncate(want)
		}
	}
	return errors.Join(err, f.Close())
}
