package exec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Arguments reach the commands of a template as data.
func TestRunTemplate(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CAIRN_SECRET", "canary")
	c := exec.Config{Paths: workpath.Resolver{Directory: dir}, Timeout: 20 * time.Second}
	evil := `"; touch pwned; $(touch pwned) ` + "`touch pwned`"
	got, err := exec.RunTemplate(t.Context(), c, exec.TemplateCommands{
		Lines: []string{
			`echo "${1}|${2}"; exit 3`, `printf '%s' "$ARGUMENTS"`, `echo no >&2; echo "<$CAIRN_SECRET>"; cat`,
			`basename "$(pwd)"`,
		},
		Args: []string{evil, "two"}, Arguments: evil,
	})
	if diff := cmp.Diff([]string{evil + "|two\n", evil, "<>\n", filepath.Base(dir) + "\n"}, got); diff != "" ||
		err != nil {
		t.Error(diff, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	c.Timeout = 50 * time.Millisecond
	if _, err := exec.RunTemplate(t.Context(), c, exec.TemplateCommands{Lines: []string{"sleep 60"}}); err == nil ||
		!strings.Contains(err.Error(), "took longer") {
		t.Errorf("got %v", err)
	}
	if _, err := exec.RunTemplate(t.Context(), c, exec.TemplateCommands{Lines: make([]string, 33)}); err == nil {
		t.Error("there is no limit")
	}
}
