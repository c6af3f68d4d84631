package caller_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestParseRole(t *testing.T) {
	for _, s := range []caller.Role{caller.Read, caller.Prompt, caller.Approve, caller.Admin} {
		if got, err := caller.ParseRole(s.String()); err != nil || got != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "Read", "root", "Scope(1)"} {
		if s, err := caller.ParseRole(bad); err == nil || s != 0 {
			t.Errorf("%q is %s", bad, s)
		}
	}
}

// A scope includes those before it; the zero scope includes nothing. The error names the missing scope.
func TestRequire(t *testing.T) {
	for have := caller.Role(0); have <= caller.Admin; have++ {
		ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Token: "1", Role: have})
		for need := caller.Read; need <= caller.Admin; need++ {
			err := caller.Require(ctx, need, "this")
			e, refused := errors.AsType[*session.Error](err)
			if refused != (have < need) {
				t.Errorf("%s for %s: %v", have, need, err)
			}
			if refused && (e.Reason != caller.ReasonScope || !strings.Contains(e.Message, "--scope "+need.String())) {
				t.Errorf("%q", e.Message)
			}
		}
	}
	if err := caller.Require(context.Background(), caller.Admin, "this"); err != nil {
		t.Error("cairn itself:", err)
	}
}

// A relay names the caller exactly, and no header gives more than the relay has.
func TestNarrowTo(t *testing.T) {
	user := caller.Caller{Kind: caller.KindUser, Role: caller.Admin}
	for _, c := range []caller.Caller{
		{Kind: caller.KindToken, Token: "1f", Role: caller.Read}, {Kind: caller.KindPassword, Role: caller.Admin},
	} {
		if got := user.NarrowTo(c.String()); got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
	read := caller.Caller{Kind: caller.KindToken, Token: "1f", Role: caller.Read}
	for _, header := range []string{"admin user", "admin", "x", " ", "admin  "} {
		if got := read.NarrowTo(header); got.Role > caller.Read {
			t.Errorf("%q gives %s", header, got.Role)
		}
	}
	if got := user.NarrowTo("x"); got.Role != 0 {
		t.Errorf("an invalid header gives %s", got.Role)
	}
}
