package foreigntest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	zs "zombiezen.com/go/sqlite"
)

// MakeDatabase makes a database of SQL scripts and returns its path.
func MakeDatabase(t testing.TB, scripts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.db")
	c, err := zs.OpenConn(path, zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	// Not sqlitex.ExecuteScript, which refuses the transaction of a dump.
	for sql := strings.TrimSpace(strings.Join(scripts, "\n")); sql != ""; {
		s, rest, err := c.PrepareTransient(sql)
		if err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
		for more := true; more && err == nil; {
			more, err = s.Step()
		}
		if err = errors.Join(err, s.Finalize()); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
		sql = strings.TrimSpace(sql[len(sql)-rest:])
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
