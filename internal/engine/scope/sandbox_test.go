package scope

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A mode that is stored or configured decides, and else whether a person approved the command.
func TestChooseConfinement(t *testing.T) {
	ifPossible := tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	off := tool.Confinement{Mode: session.SandboxOff}
	for name, c := range map[string]struct {
		session    session.Session
		configured session.SandboxMode
		byPerson   bool
		want       tool.Confinement
	}{
		"by a rule":          {want: ifPossible},
		"by a person":        {byPerson: true, want: off},
		"open":               {session: session.Session{Open: true}, want: ifPossible},
		"configured off":     {session: session.Session{Open: true}, configured: session.SandboxOff, want: off},
		"stored strict":      {session.Session{Sandbox: "strict"}, "off", true, tool.Confinement{Mode: "strict"}},
		"configured strict":  {configured: session.SandboxStrict, byPerson: true, want: tool.Confinement{Mode: "strict"}},
		"stored off, writes": {session.Session{Sandbox: "off"}, "writes", true, tool.Confinement{Mode: "writes"}},
		"stored off":         {session: session.Session{Sandbox: "off"}, want: off},
	} {
		s := &Scope{Sandbox: func(string) session.SandboxMode { return c.configured }}
		got := s.ChooseConfinement(session.Agent{ID: "build"}, &c.session, c.byPerson)
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
