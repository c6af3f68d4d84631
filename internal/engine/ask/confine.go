package ask

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ChooseConfinement returns how a command of the asker is confined, by the rules and approvals as they are now: no less
// strictly than a mode that is stored or configured for a parent session. An asker whose policy allows asks is as
// unattended as one whose rules do.
func (a *Asks) ChooseConfinement(
	ctx context.Context, by Asker, scope *location.Scope, s *session.Session,
) (tool.Confinement, error) {
	saved, err := a.readApprovals(ctx, by.Project, by.SessionID)
	if err != nil {
		return tool.Confinement{}, err
	}
	d := location.DecideAnyCommand(by.Layers, saved)
	if by.Policy.Kind == PolicyAllow && d.Effect == session.Ask {
		d.Effect = session.Allow
	}
	if s, err = TightenSandbox(ctx, a.journal, a.locations, s); err != nil {
		return tool.Confinement{}, err
	}
	c := scope.ChooseConfinement(scope.FindAgent(by.Agent), s, d)
	c.AllowsEdit = location.AllowEdits(by.Layers, saved)
	return c, nil
}

// TightenSandbox returns the session with a mode that is no less strict than those of its parent sessions, with the
// agents that these have now. A session whose parent is gone has no more modes to follow: its rules deny everything.
func TightenSandbox(
	ctx context.Context, j *journal.Journal, l location.Scopes, s *session.Session,
) (*session.Session, error) {
	out := *s
	for depth, id := 0, s.ParentID; id != "" && depth < maxAncestors; depth++ {
		parent, err := j.ReadSession(ctx, id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			break
		}
		if err != nil {
			return nil, err
		}
		scope, release, err := l.Scope(ctx, parent.Location)
		if err != nil {
			return nil, err
		}
		mode := parent.Sandbox.ChooseStricter(scope.FindSandbox(scope.FindAgent(parent.Agent)))
		release()
		if mode.IsConfined() {
			out.Sandbox = out.Sandbox.ChooseStricter(mode)
		}
		id = parent.ParentID
	}
	return &out, nil
}
