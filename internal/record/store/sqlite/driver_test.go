package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	zs "zombiezen.com/go/sqlite"
)

// SQLite before 3.51.3 can lose commits when a log starts over.
func TestSQLiteIsNewEnough(t *testing.T) {
	const least = 3_051_003
	if zs.VersionNumber < least {
		t.Errorf("SQLite is %s, must be 3.51.3 or later", zs.Version)
	}
}

// Opening a connection harms nothing that others have in memory: the driver's call for "defensive" mode hands
// SQLite one argument where it reads two, and SQLite then writes through whatever lies behind it. A text that was
// bound elsewhere at that moment was changed, and a query found nothing.
func TestOpeningHarmsNobody(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	h := &home{dir: dir, path: filepath.Join(dir, dbName)}
	var reading sync.WaitGroup
	end := make(chan struct{})
	for range 2 {
		c, err := h.openReader()
		if err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer c.Close()
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				if id, err := metaValue(c, "store-id"); err != nil || id != s.ID() {
					t.Errorf("query %d: the store's id is %q, %v", n, id, err)
					return
				}
			}
		})
	}
	for range times(3000) { // which shows it in every other run
		c, err := h.openReader()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	close(end)
	reading.Wait()
}

// modernc.org/sqlite works with exactly the libc that it was generated for.
func TestLibcIsTheOneOfSQLite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	ours, theirs := libcOf(t, "../../../../go.mod"), libcOf(t, strings.TrimSpace(string(out)))
	if ours != theirs {
		t.Errorf("go.mod names modernc.org/libc %s, modernc.org/sqlite was made for %s", ours, theirs)
	}
}

func libcOf(t *testing.T, gomod string) string {
	t.Helper()
	b, err := os.ReadFile(gomod)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("%s does not name modernc.org/libc", gomod)
	}
	return string(m[1])
}
