package ask

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ChooseConfinement returns how a command of the asker is confined, by the rules and approvals as they are now. An
// asker whose policy allows asks is as unattended as one whose rules do.
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
	c := scope.ChooseConfinement(scope.FindAgent(by.Agent), s, d)
	c.AllowsEdit = location.AllowEdits(by.Layers, saved)
	return c, nil
}
