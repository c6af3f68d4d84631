package sqlitefile_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/transfer/sqlitefile"
)

// open opens a database for writing. It stays open until the test ends, as in a program that runs.
func open(t *testing.T, path string, sql ...string) *zs.Conn {
	t.Helper()
	c, err := zs.OpenConn(path, zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	execute(t, c, sql...)
	return c
}

func execute(t *testing.T, c *zs.Conn, sql ...string) {
	t.Helper()
	for _, s := range sql {
		stmt, _, err := c.PrepareTransient(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if err = errors.Join(err, stmt.Finalize()); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// listFiles describes all files of the folder.
func listFiles(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		info, statErr := e.Info()
		if err = errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(t.Name(), "TestReadChangesNoFile/open") && strings.HasSuffix(e.Name(), "-shm") {
			b = nil // memory that a running program shares with its readers, for their locks
		}
		out = append(out, fmt.Sprintf("%s %x %s", e.Name(), sha256.Sum256(b), info.ModTime()))
	}
	return out
}

func readAll(t *testing.T, path string) (string, error) {
	t.Helper()
	db, err := sqlitefile.Open(t.Context(), path)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var out []string
	for row, err := range db.Rows("SELECT x FROM a ORDER BY x") {
		if err != nil {
			return "", err
		}
		out = append(out, row.Text(0))
	}
	return strings.Join(out, " "), db.Check()
}

var filled = []string{"CREATE TABLE a (x)", "INSERT INTO a VALUES ('1')", "INSERT INTO a VALUES ('2')"}

// A database is read whole in each state in which a program leaves it, and no file is changed or created.
func TestReadChangesNoFile(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, path string){
		"closed, with a rollback journal": func(t *testing.T, path string) { _ = open(t, path, filled...).Close() },
		"open, with a rollback journal":   func(t *testing.T, path string) { open(t, path, filled...) },
		"closed, with a log": func(t *testing.T, path string) {
			_ = open(t, path, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...).Close()
		},
		"open, with a log": func(t *testing.T, path string) {
			open(t, path, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...)
		},
		"left behind by a program that was killed": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			open(t, other, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...)
			for _, suffix := range []string{"", "-wal", "-shm"} {
				copyFile(t, path+suffix, other+suffix)
			}
		},
		"copied with its log": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			open(t, other, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...)
			copyFile(t, path, other)
			copyFile(t, path+"-wal", other+"-wal")
		},
		"killed in a transaction": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			c := open(t, other, append([]string{"PRAGMA cache_size=1"}, filled...)...)
			// More than fits into the cache: it is written before the transaction ends.
			execute(t, c, "BEGIN", "UPDATE a SET x = '3'", `INSERT INTO a WITH RECURSIVE n(i) AS
				(SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 500) SELECT hex(zeroblob(500)) FROM n`)
			for _, suffix := range []string{"", "-journal"} {
				copyFile(t, path+suffix, other+suffix)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a b?c%d#.db")
			prepare(t, path)
			before := listFiles(t, dir)
			if got, err := readAll(t, path); got != "1 2" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if diff := cmp.Diff(before, listFiles(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// All reads are of one state, whatever a program writes meanwhile.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	writer := open(t, path, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...)
	db, err := sqlitefile.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, writer, "INSERT INTO a VALUES ('3')")
	for row, err := range db.Rows("SELECT count(*) FROM a") {
		if err != nil || row.Int(0) != 2 {
			t.Errorf("%d rows, %v", row.Int(0), err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    error
	}{
		"locked": {func(t *testing.T, path string) {
			execute(t, open(t, path, filled...), "BEGIN EXCLUSIVE")
		}, sqlitefile.ErrLocked},
		"truncated": {func(t *testing.T, path string) {
			_ = open(t, path, filled...).Close()
			if err := os.Truncate(path, 4096); err != nil {
				t.Fatal(err)
			}
		}, sqlitefile.ErrTruncated},
		"text": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no ", 99)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlitefile.ErrNotSQLite},
		"empty": {func(t *testing.T, path string) { copyFile(t, path, os.DevNull) }, sqlitefile.ErrNotSQLite},
		"damaged": {func(t *testing.T, path string) {
			_ = open(t, path, filled...).Close()
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt(make([]byte, 2000), 4096)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, sqlitefile.ErrDamaged},
		"missing": {func(*testing.T, string) {}, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			c.prepare(t, path)
			if _, err := readAll(t, path); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// A database that a program begins to write while it is read without locks is reported at the end.
func TestChangedWhileRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	_ = open(t, path, append([]string{"PRAGMA journal_mode=WAL"}, filled...)...).Close()
	db, err := sqlitefile.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	open(t, path, "INSERT INTO a VALUES ('3')")
	if err := db.Check(); !errors.Is(err, sqlitefile.ErrChanged) {
		t.Errorf("error %v", err)
	}
}
