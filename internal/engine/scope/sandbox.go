package scope

import (
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// FindSandbox returns the configured sandbox of an agent, "" if none is configured.
func (s *Scope) FindSandbox(a session.Agent) session.SandboxMode {
	if s.Sandbox == nil {
		return ""
	}
	return s.Sandbox(a.ID)
}

// ChooseNewSandbox returns the mode of a session that begins here and requests the mode m: no less strict than
// NewSandbox, and than a confined mode that is configured for its agent.
func (s *Scope) ChooseNewSandbox(m session.SandboxMode, agent string) session.SandboxMode {
	m = m.ChooseStricter(s.NewSandbox)
	if configured := s.FindSandbox(s.FindAgent(agent)); configured.IsConfined() {
		m = m.ChooseStricter(configured)
	}
	return m
}

// RequireSandbox returns a CodeInvalid error for an unknown mode, and for one that this system cannot enforce.
func (s *Scope) RequireSandbox(m session.SandboxMode) error {
	if err := m.Check("sandbox"); err != nil || !m.IsConfined() || s.CheckSandbox == nil {
		return err
	}
	if err := s.CheckSandbox(m); err != nil {
		return session.Errorf(session.CodeInvalid, "this system has no sandbox of the mode %s: %v", m, err).At("sandbox")
	}
	return nil
}

// ChooseConfinement returns how a command of the agent's work in the session is confined. A stored or configured mode
// decides, of two the stricter one. Without either, a command whose text a person approved now or typed is not
// confined, and every other one is where the kernel can do it.
func (s *Scope) ChooseConfinement(a session.Agent, in *session.Session, byPerson bool) tool.Confinement {
	mode := in.Sandbox.ChooseStricter(s.FindSandbox(a))
	switch {
	case mode != "":
		return tool.Confinement{Mode: mode}
	case byPerson:
		return tool.Confinement{Mode: session.SandboxOff}
	}
	return tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
}

// AllowEdits returns what reports whether a file can be changed without an ask, as permission.AllowsEdit does.
func AllowEdits(layers []permission.Layer, saved []session.Rule) func(resource string) bool {
	return func(resource string) bool {
		return permission.AllowsEdit(layers, saved, resource)
	}
}
