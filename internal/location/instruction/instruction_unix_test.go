//go:build unix

package instruction

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// A file that is replaced by a folder or a pipe is unavailable: its text stays in force, and a new session fails with
// its name. A device and a loop of links count as missing, and so does a configured folder.
func TestIrregularFiles(t *testing.T) {
	makePipe := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	for name, tt := range map[string]struct {
		replace func(path string) error
		problem string // "": missing
	}{
		"folder": {func(path string) error { return os.Mkdir(path, 0o755) }, "is a folder"},
		"pipe":   {makePipe, "is not a regular file"},
		"device": {func(path string) error { return os.Symlink(os.DevNull, path) }, ""},
		"loop":   {func(path string) error { return os.Symlink(filepath.Base(path), path) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"repo/AGENTS.md": "top", "repo/rules/x.md": "x"})
			w.opts.Configured = []string{"rules*"}
			g, err := systemcontext.Initialize(t.Context(), w.context())
			if err != nil {
				t.Fatal(err)
			}
			path := w.path("repo/AGENTS.md")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := tt.replace(path); err != nil {
				t.Skip(err)
			}
			o, err := systemcontext.Reconcile(t.Context(), w.context(), g.Snapshot)
			if err != nil || (o.Kind == systemcontext.OutcomeUnchanged) != (tt.problem != "") {
				t.Errorf("the update is %+v, %v", o, err)
			}
			_, err = systemcontext.Initialize(t.Context(), w.context())
			if tt.problem == "" && err != nil ||
				tt.problem != "" && (err == nil || !strings.HasSuffix(err.Error(), path+": "+tt.problem)) {
				t.Errorf("a first context is refused with %v", err)
			}
		})
	}
}
