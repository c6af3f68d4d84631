package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// openDamaged returns a connection to what the home holds. While a process owns the home, that is its database as
// it stands; else, or if that cannot be opened, a copy in the folder scratch: opening alone would change files of
// the home.
func (h *home) openDamaged(scratch string) (dbConn, error) {
	if h.isOwned() {
		if open, err := h.findReader(); err == nil {
			return open()
		}
	}
	c := &home{dir: scratch, path: filepath.Join(scratch, dbName)}
	if err := h.copyTo(c); err != nil {
		return nil, err
	}
	if conn, err := c.open(forReading, readerPragmas); err == nil {
		if err := beginSnapshot(conn); err == nil {
			return conn, execute(conn, "COMMIT")
		}
		_ = conn.Close()
	}
	// Its log cannot be used; what is in the database itself may be readable all the same.
	return c.open(forReadingRaw, readerPragmas)
}

// isOwned reports whether a process owns the folder. It writes nothing.
func (h *home) isOwned() bool {
	f, err := os.Open(filepath.Join(h.dir, leaseName))
	if err != nil {
		return false
	}
	defer f.Close() // gives the lock up again
	locked, err := lockFile(f)
	return err == nil && !locked
}

// copyTo copies the database and its log, and gives the copy the length that its header speaks of: SQLite refuses all
// of a database that was cut short, though only some pages are missing.
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

// maxCut bounds how many pages are put in the place of lost ones, against a header that is damaged too.
const maxCut = 1 << 22

// padToHeader fills the file with empty pages up to the number of pages in its header.
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
