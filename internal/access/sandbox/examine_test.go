package sandbox

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/finding"
)

// Examine says which parts of the sandbox hold.
func TestExamine(t *testing.T) {
	found := Examine()
	if got, want := found[0].Level == finding.OK, Check() == nil; got != want {
		t.Errorf("%+v", found)
	}
	if Check() != nil {
		return
	}
	missing := 1
	for _, err := range []error{CheckSignals(), CheckNamespace()} {
		if err != nil {
			missing++
		}
	}
	if len(found) != missing {
		t.Errorf("%+v", found)
	}
}
