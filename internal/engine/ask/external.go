package ask

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// List returns the pending asks of a session and of its descendants, or of all sessions ("").
func (a *Asks) List(ctx context.Context, id session.ID) (rows []*store.AskRow, err error) {
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		if id == "" {
			rows, err = r.Asks(store.AskQuery{Pending: true})
			return err
		}
		if _, err = store.FindSession(r, id); err == nil {
			rows, err = store.PendingAsksOf(r, id)
		}
		return err
	})
	return rows, err
}

// AskExternally asks on behalf of a caller outside of any tool call. It returns at once, with the effect and,
// if the effect is ask, the id of the pending ask.
func (a *Asks) AskExternally(
	ctx context.Context, id session.ID, ask session.PendingAsk,
) (session.Effect, session.AskID, error) {
	// Collect the rules and approvals of the session.
	s, err := a.journal.ReadSession(ctx, id)
	if err != nil {
		return "", "", err
	}
	scope, release, err := scope.Open(ctx, a.locations, s)
	if err != nil {
		return "", "", err
	}
	defer release()
	agent := scope.FindAgent(cmp.Or(ask.Agent, s.Agent))
	saved, err := a.readApprovals(ctx, scope.RecordID, id)
	if err != nil {
		return "", "", err
	}
	// Decide at once.
	if ask.ID == "" {
		ask.ID = session.AskID(a.journal.IDs.New(session.PrefixPermission))
	} else if err := session.CheckID("id", session.PrefixPermission, string(ask.ID)); err != nil {
		return "", "", err
	}
	layers, err := a.CollectRules(ctx, scope, s, agent)
	if err != nil {
		return "", "", err
	}
	d := permission.EvaluateAll(layers, saved, permission.Subject{Action: ask.Action, Resources: ask.Resources})
	// Store the ask if a person must decide. It is of no turn, so no drain waits for it.
	if d.Effect == session.Ask {
		ask.SessionID, ask.Agent, ask.Firm = id, agent.ID, false
		if from := ask.Source; from != nil { // without PartID: only a call of cairn has one
			ask.Source = &session.AskSource{Type: from.Type, MessageID: from.MessageID, CallID: from.CallID}
		}
		if err := a.journal.AppendFacts(ctx, id, &session.PermissionAsked{Ask: ask}); err != nil {
			return "", "", err
		}
	}
	return d.Effect, ask.ID, nil
}
