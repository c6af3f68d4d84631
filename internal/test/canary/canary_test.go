package canary

import (
	"strings"
	"testing"
)

// Each canary has a secret that is found, and a kind of its own.
func TestList(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range List() {
		if kinds[c.Kind] || c.Kind == "" || len(c.Secrets) == 0 || strings.ContainsAny(c.Text, "«»") {
			t.Errorf("%+v", c)
		}
		kinds[c.Kind] = true
		for _, secret := range c.Secrets {
			if c.FindLeak("x"+secret) == "" || len(secret) < 6 {
				t.Errorf("%s: %q is not found", c.Kind, secret)
			}
		}
		if c.FindLeak("a [redacted] text") != "" {
			t.Errorf("%s is found without its secret", c.Kind)
		}
	}
	if len(kinds) < 60 {
		t.Errorf("%d kinds", len(kinds))
	}
}
