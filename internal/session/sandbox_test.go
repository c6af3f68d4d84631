package session

import "testing"

func TestStricterSandbox(t *testing.T) {
	order := []SandboxMode{"", SandboxOff, SandboxWrites, SandboxStrict}
	for i, a := range order {
		for j, b := range order {
			if got := a.ChooseStricter(b); got != order[max(i, j)] {
				t.Errorf("%q, %q: %q", a, b, got)
			}
			if got := a.IsAtLeast(b); got != (i >= j) {
				t.Errorf("%q covers %q: %v", a, b, got)
			}
		}
	}
	for _, unknown := range []SandboxMode{"none", "Strict"} {
		if unknown.Check("sandbox") == nil || unknown.IsAtLeast("") || SandboxStrict.IsAtLeast(unknown) ||
			unknown.ChooseStricter(SandboxOff) != SandboxStrict || SandboxOff.ChooseStricter(unknown) != SandboxStrict {
			t.Errorf("%q is not treated as strict", unknown)
		}
	}
}
