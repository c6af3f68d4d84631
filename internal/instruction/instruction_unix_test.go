//go:build unix

package instruction

import (
	"syscall"
	"testing"
)

func TestIrregularFiles(t *testing.T) {
	w := newWorld(t, map[string]string{"repo/AGENTS.md/x": "a directory"})
	if err := syscall.Mkfifo(w.path("repo/sub/AGENTS.md"), 0o644); err != nil {
		t.Skip(err)
	}
	w.link("repo/sub/deep/AGENTS.md", "AGENTS.md") // a loop
	if got := w.baseline(); got != "" {
		t.Errorf("got %q", got)
	}
}
