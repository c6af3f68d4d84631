package ask

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// newApproval returns an approval for the record, still without action and resource.
func (a *Asks) newApproval(record session.RecordID, id session.ID, lifetime session.Lifetime) store.Approval {
	out := store.Approval{RecordID: record, Lifetime: lifetime, Time: a.journal.Now().UnixMilli()}
	switch lifetime {
	case session.LifetimeSession:
		out.Holder = string(id)
	case session.LifetimeProcess:
		out.Holder = a.process
	}
	return out
}

// readApprovals returns the saved approvals of the record that hold in the session, as rules. Without a session they are
// those that hold in all of its sessions; without a record there are none.
func (a *Asks) readApprovals(
	ctx context.Context, record session.RecordID, id session.ID,
) (saved []session.Rule, err error) {
	if record == "" { // would mean all records to the store
		return nil, nil
	}
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		approvals, err := r.Approvals(record)
		for _, row := range approvals {
			held := row.Holder == a.process || id != "" && row.Holder == string(id)
			if held || row.Lifetime == session.LifetimeProject {
				saved = append(saved, session.Rule{Action: row.Action, Resource: row.Resource, Effect: session.Allow})
			}
		}
		return err
	})
	return saved, err
}

// RevokeApproval removes a saved approval.
func (a *Asks) RevokeApproval(ctx context.Context, approval string) error {
	if err := a.journal.Audit.AddEntry(ctx, audit.KindRules, "revoke the approval "+approval); err != nil {
		return err
	}
	var existed bool
	err := a.journal.Store.Update(context.WithoutCancel(ctx), store.Durable, func(tx store.Tx) (err error) {
		existed, err = tx.DeleteApproval(approval)
		return err
	})
	if err == nil && !existed {
		err = session.NotFound("approval", approval)
	}
	return err
}

// DropEndedApprovals removes the approvals of processes that have ended. They no longer hold even if this fails.
func (a *Asks) DropEndedApprovals(ctx context.Context) error {
	var ended []store.Approval
	err := a.journal.Store.View(ctx, func(r store.Reader) (err error) {
		ended, err = r.Approvals("")
		return err
	})
	ended = slices.DeleteFunc(ended, func(row store.Approval) bool {
		return row.Lifetime != session.LifetimeProcess || row.Holder == a.process
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	return a.journal.Store.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		for _, row := range ended {
			if _, err := tx.DeleteApproval(row.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
