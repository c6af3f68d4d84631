package tool

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder that fills up while the program runs is swept without being asked to.
func TestAccountSweeps(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	old := filepath.Join(o.Dir, "tool_old")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*OutputAge)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		bytes int64
		kept  bool
	}{{MaxOutputDir / 8, true}, {1, false}} {
		if err := o.account(t.Context(), step.bytes); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(old); (err == nil) != step.kept {
			t.Errorf("after %d bytes more: %v", step.bytes, err)
		}
	}
}
