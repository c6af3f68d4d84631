package location

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A mode that is stored or configured decides, and else whether any command runs without an ask.
func TestChooseConfinement(t *testing.T) {
	rule := func(resource string, e session.Effect) session.Rule {
		return session.Rule{Action: "bash", Resource: resource, Effect: e}
	}
	all, none := []session.Rule{rule("*", session.Allow)}, []session.Rule{rule("*", session.Ask)}
	list := []session.Rule{rule("ls *", session.Allow)}
	allButRemove := []session.Rule{rule("*", session.Allow), rule("rm *", session.Ask)}
	ifPossible := tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	off := tool.Confinement{Mode: session.SandboxOff}
	for name, c := range map[string]struct {
		session    session.Session
		configured session.SandboxMode
		want       tool.Confinement
	}{
		"asks":      {want: off},
		"open":      {session: session.Session{Open: true}, want: ifPossible},
		"open, off": {session: session.Session{Open: true}, configured: session.SandboxOff, want: off},
		"open, stored strict": {
			session.Session{Open: true, Sandbox: "strict"}, "off", tool.Confinement{Mode: "strict"},
		},
		"asks, strict":         {configured: session.SandboxStrict, want: tool.Confinement{Mode: "strict"}},
		"stored off, writes":   {session.Session{Sandbox: "off"}, "writes", tool.Confinement{Mode: "writes"}},
		"everything allowed":   {session: session.Session{Permission: all}, want: ifPossible},
		"everything but rm":    {session: session.Session{Permission: allButRemove}, want: ifPossible},
		"only ls":              {session: session.Session{Permission: list}, want: off},
		"open, asks about all": {session: session.Session{Open: true, Permission: none}, want: off},
	} {
		s := &Scope{
			Sandbox: func(string) session.SandboxMode { return c.configured },
			Layers: func(session.Agent) []permission.Layer {
				return []permission.Layer{{Name: "defaults", Rules: []session.Rule{rule("*", session.Ask)}}}
			},
		}
		a := session.Agent{ID: "build"}
		got := s.ChooseConfinement(a, &c.session, DecideAnyCommand(s.RulesFor(a, &c.session), nil))
		if got.Mode != c.want.Mode || got.IfPossible != c.want.IfPossible {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A mode that the system cannot enforce is refused when a session asks for it.
func TestRequireSandbox(t *testing.T) {
	s := &Scope{CheckSandbox: func(session.SandboxMode) error { return errors.New("no Landlock") }}
	refused := map[session.SandboxMode]bool{"": false, "off": false, "writes": true, "strict": true, "x": true}
	for mode, isRefused := range refused {
		if err := s.RequireSandbox(mode); (err != nil) != isRefused {
			t.Errorf("%q: %v", mode, err)
		}
	}
}
