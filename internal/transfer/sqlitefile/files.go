package sqlitefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// files are the files of a database as they were found.
type files struct {
	path     string // absolute, without symbolic links
	size     int64
	modified time.Time
	usesLog  bool  // it is in WAL mode
	hasLog   bool  // there is a log, which may hold what the database lacks
	hasIndex bool  // there is a -shm file: a program has the database open, or did not end in order
	journal  int64 // size of a file with what a transaction replaces, which has not ended or was cut off; 0 without one
}

// The suffixes of the files beside a database: in WAL mode, and else while it is written.
const (
	logSuffix     = "-wal"
	indexSuffix   = "-shm"
	journalSuffix = "-journal"
)

// inspect reads the header of the database.
func inspect(path string) (files, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return files{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return files{}, err
	}
	if !info.Mode().IsRegular() {
		return files{}, errors.New("it is not a regular file")
	}
	f := files{path: path, size: info.Size(), modified: info.ModTime()}
	header, err := readHeader(path)
	if err != nil {
		return files{}, err
	}
	f.usesLog = header[18] == 2 || header[19] == 2
	f.hasLog = sizeOf(path+logSuffix) > 0
	f.hasIndex = sizeOf(path+indexSuffix) > 0
	f.journal = sizeOf(path + journalSuffix)
	// The length counts only if the last writer was one that keeps it, and nothing waits in a log.
	number := func(at int) int64 { return int64(binary.BigEndian.Uint32(header[at:])) }
	pageSize := int64(binary.BigEndian.Uint16(header[16:]))
	if pageSize == 1 {
		pageSize = 64 << 10
	}
	want := number(28) * pageSize
	if !f.hasLog && !f.hasIndex && f.journal == 0 && number(24) == number(92) && want > f.size {
		return files{}, fmt.Errorf("%w: it has %d bytes of %d", ErrTruncated, f.size, want)
	}
	return f, nil
}

// readHeader returns the first 100 bytes of the database.
func readHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if n < len(header) || !strings.HasPrefix(string(header), "SQLite format 3\x00") {
		return nil, ErrNotSQLite
	}
	return header, nil
}

// sizeOf returns the length of a file, 0 without one.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// isImmutable reports whether no program has the database open. It is then read without locks, which would create files
// beside it.
func (f files) isImmutable() bool { return f.usesLog && !f.hasLog && !f.hasIndex }

// needsCopy reports whether there is a log without its index, as after copying a database. SQLite would create one.
func (f files) needsCopy() bool { return f.usesLog && f.hasLog && !f.hasIndex }

// options returns the options of SQLite's URI for reading the database in place, to be tried in this order.
func (f files) options() []string {
	switch {
	case f.isImmutable():
		return []string{"mode=ro&immutable=1"}
	case f.usesLog: // a reader that is the first one must write to the index
		return []string{"mode=ro&readonly_shm=1", "mode=ro"}
	}
	return []string{"mode=ro"}
}

// haveChanged reports whether the database was written since it was inspected.
func (f files) haveChanged() bool {
	info, err := os.Stat(f.path)
	return err != nil || info.Size() != f.size || !info.ModTime().Equal(f.modified) ||
		sizeOf(f.path+logSuffix) > 0 != f.hasLog || sizeOf(f.path+journalSuffix) != f.journal
}

// copyToScratch copies the database and the file beside it into a new folder.
func (f files) copyToScratch(suffix string) (path, dir string, err error) {
	if dir, err = os.MkdirTemp("", "cairn-import-*"); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "copy.db")
	if err = copyFile(path, f.path); err == nil {
		err = copyFile(path+suffix, f.path+suffix)
	}
	return path, dir, err
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
