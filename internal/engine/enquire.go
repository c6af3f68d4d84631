package engine

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Asks returns the pending asks of a session, or of all sessions ("").
func (e *Engine) Asks(ctx context.Context, id session.ID) (rows []*store.AskRow, err error) {
	err = e.store.View(ctx, func(r store.Reader) error {
		if id != "" {
			if _, err := journal.FindSession(r, id); err != nil {
				return err
			}
		}
		rows, err = r.Asks(id, true)
		return err
	})
	return rows, err
}

// Revoke removes a saved approval.
func (e *Engine) Revoke(ctx context.Context, approval string) error {
	var existed bool
	err := e.store.Update(context.WithoutCancel(ctx), store.Durable, func(tx store.Tx) (err error) {
		existed, err = tx.DeleteApproval(approval)
		return err
	})
	if err == nil && !existed {
		err = session.NotFound("approval", approval)
	}
	return err
}

// Enquire asks on behalf of a caller outside any tool call (spec/v2 PM-11). It returns at once: the effect, and the
// id of the pending ask if it must be answered.
func (e *Engine) Enquire(ctx context.Context, id session.ID, ask session.PendingAsk) (session.Effect, session.AskID, error) {
	s, err := e.session(ctx, id)
	if err != nil {
		return "", "", err
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return "", "", err
	}
	defer release()
	agent := scope.FindAgent(cmp.Or(ask.Agent, s.Agent))
	saved, err := e.approvals(ctx, s.ApprovalScope())
	if err != nil {
		return "", "", err
	}
	if ask.ID == "" {
		ask.ID = session.AskID(e.ids.New(session.PrefixPermission))
	} else if err := session.CheckID("id", session.PrefixPermission, string(ask.ID)); err != nil {
		return "", "", err
	}
	layers, err := e.rights(ctx, scope, s, agent)
	if err != nil {
		return "", "", err
	}
	d := permission.EvaluateAll(layers, saved, permission.Subject{Action: ask.Action, Resources: ask.Resources})
	if d.Effect == session.Ask {
		ask.SessionID, ask.Agent, ask.Firm = id, agent.ID, d.Firm
		if ask.Source != nil { // nothing that somebody else says is taken for a call of ours
			ask.Source = &session.AskSource{Type: ask.Source.Type, MessageID: ask.Source.MessageID, CallID: ask.Source.CallID}
		}
		if err := e.fact(ctx, id, &session.PermissionAsked{Ask: ask}); err != nil {
			return "", "", err
		}
	}
	return d.Effect, ask.ID, nil
}
