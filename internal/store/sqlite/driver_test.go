package sqlite

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
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

// modernc.org/sqlite works with exactly the libc that it was generated for.
func TestLibcIsTheOneOfSQLite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	ours, theirs := libcOf(t, "../../../go.mod"), libcOf(t, strings.TrimSpace(string(out)))
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
