package ask

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestParsePolicy(t *testing.T) {
	for in, want := range map[session.AskPolicy]Policy{
		"":         {},
		"deny":     {Kind: PolicyDeny},
		"allow":    {Kind: PolicyAllow},
		"fail":     {Kind: PolicyFail},
		"wait:30s": {PolicyWait, 30 * time.Second},
		"wait:30":  {PolicyWait, 30 * time.Second},
	} {
		if got, err := ParsePolicy(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []session.AskPolicy{"wait", "wait:", "wait:0s", "wait:-1", "unattended", "Deny"} {
		if got, err := ParsePolicy(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}
