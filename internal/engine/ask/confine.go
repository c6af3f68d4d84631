package ask

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ChooseConfinement returns how a command of the asker is confined now: no less strictly than a mode that is stored or
// configured for a parent session. A command that no person has approved is confined even if no mode is set; an
// approval during the call changes the result, so a call reads it again after its asks.
func (a *Asks) ChooseConfinement(
	ctx context.Context, by Asker, loc *scope.Scope, s *session.Session,
) (tool.Confinement, error) {
	saved, err := a.readApprovals(ctx, by.RecordID, by.approvalHolder())
	if err != nil {
		return tool.Confinement{}, err
	}
	tight, planning, err := TightenSandbox(ctx, a.journal, a.locations, s)
	if err != nil {
		return tool.Confinement{}, err
	}
	byPerson := by.Call != nil && by.Call.approved.Load()
	c := loc.ChooseConfinement(loc.FindAgent(by.Agent), tight, byPerson)
	c.Attended = c.IfPossible && !s.Open && (by.Policy.Kind == PolicyInteractive || by.Policy.Kind == PolicyWait)
	c.Outside = by.Call != nil && by.Call.outside.Load()
	c.Unread = by.Call != nil && by.Call.unread.Load()
	c.AllowsEdit = scope.AllowEdits(by.Layers, saved)
	if isCall := by.Call != nil; isCall && (planning || by.Agent == session.AgentPlan) {
		// What a command writes is not known before it runs, and approvals of commands say nothing of files.
		c.ReadOnly, c.IfPossible, c.Attended = true, false, false
		c.Mode = c.Mode.ChooseStricter(session.SandboxWrites)
	}
	return c, nil
}

// TightenSandbox returns the session with a mode that is no less strict than those of its parent sessions, with the
// agents that these have now, and whether one of these plans. A session whose parent is gone has no more modes to
// follow: its rules deny everything.
func TightenSandbox(
	ctx context.Context, j *turnlog.Journal, l scope.Scopes, s *session.Session,
) (_ *session.Session, planning bool, _ error) {
	out := *s
	// Go up: what any parent confines, the child does not loosen.
	for depth, id := 0, s.ParentID; id != "" && depth < maxAncestors; depth++ {
		parent, err := j.ReadSession(ctx, id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			break
		}
		if err != nil {
			return nil, false, err
		}
		planning = planning || parent.Agent == session.AgentPlan
		scope, release, err := scope.Open(ctx, l, parent)
		if err != nil {
			return nil, false, err
		}
		mode := parent.Sandbox.ChooseStricter(scope.FindSandbox(scope.FindAgent(parent.Agent)))
		release()
		if mode.IsConfined() {
			out.Sandbox = out.Sandbox.ChooseStricter(mode)
		}
		id = parent.ParentID
	}
	return &out, planning, nil
}
