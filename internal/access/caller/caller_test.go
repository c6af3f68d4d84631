package caller_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestParseScope(t *testing.T) {
	for _, s := range []caller.AccessScope{caller.Read, caller.Prompt, caller.Approve, caller.Admin} {
		if got, err := caller.ParseScope(s.String()); err != nil || got != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "Read", "root", "AccessScope(1)"} {
		if s, err := caller.ParseScope(bad); err == nil || s != 0 {
			t.Errorf("%q is %s", bad, s)
		}
	}
}

// A scope includes those before it; the zero scope includes nothing. The error names the missing scope.
func TestRequire(t *testing.T) {
	for have := caller.AccessScope(0); have <= caller.Admin; have++ {
		ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Token: "1", Scope: have})
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
	user := caller.Caller{Kind: caller.KindUser, Scope: caller.Admin}
	for _, c := range []caller.Caller{
		{Kind: caller.KindToken, Token: "1f", Scope: caller.Read}, {Kind: caller.KindPassword, Scope: caller.Admin},
	} {
		if got := user.NarrowTo(c.String()); got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
	read := caller.Caller{Kind: caller.KindToken, Token: "1f", Scope: caller.Read}
	for _, header := range []string{"admin user", "admin", "x", " ", "admin  "} {
		if got := read.NarrowTo(header); got.Scope > caller.Read {
			t.Errorf("%q gives %s", header, got.Scope)
		}
	}
	if got := user.NarrowTo("x"); got.Scope != 0 {
		t.Errorf("an invalid header gives %s", got.Scope)
	}
}
