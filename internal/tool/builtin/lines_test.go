package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/tool/builtin"
)

// What was typed reaches the lines of a template as data, whatever it looks like.
func TestPrint(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CAIRN_SECRET", "canary")
	c := builtin.Config{Directory: dir, Timeout: 20 * time.Second}
	evil := `"; touch pwned; $(touch pwned) ` + "`touch pwned`"
	got, err := builtin.Print(t.Context(), c, builtin.Lines{
		Lines: []string{`echo "${1}|${2}"; exit 3`, `printf '%s' "$ARGUMENTS"`, `echo no >&2; echo "<$CAIRN_SECRET>"; cat`, `basename "$(pwd)"`},
		Args:  []string{evil, "two"}, Arguments: evil,
	})
	if diff := cmp.Diff([]string{evil + "|two\n", evil, "<>\n", filepath.Base(dir) + "\n"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	c.Timeout = 50 * time.Millisecond
	if _, err := builtin.Print(t.Context(), c, builtin.Lines{Lines: []string{"sleep 60"}}); err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Errorf("got %v", err)
	}
	if _, err := builtin.Print(t.Context(), c, builtin.Lines{Lines: make([]string, 33)}); err == nil {
		t.Error("there is no limit")
	}
}
