package admit

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// ForkSession copies the session up to the end to a new session, which it returns, with the session's rules and
// approvals, in the sandbox of new sessions. The source may be working: what has not ended is copied as interrupted. An
// unknown session, message or part is a *session.Error of code not-found.
//
// The fork of a child session has no parent. Instead it keeps what the rules of the parent sessions deny and ask. For a
// caller that may not approve, the fork is not open and has no rules that allow and no approvals.
func (c *Commands) ForkSession(ctx context.Context, from session.ID, end CopyEnd) (*session.Session, error) {
	if err := c.checkNewWork(); err != nil {
		return nil, err
	}
	// Read the copy, its approvals, and what the parents of a child forbid, in one transaction.
	to := session.ID(c.journal.IDs.New(session.PrefixSession))
	var copied *Copy
	var approvals []store.Approval
	err := c.journal.Store.View(ctx, func(r store.Reader) (err error) {
		copied, err = ReadCopy(r, CopyRequest{From: from, To: to, IDs: c.journal.IDs, End: end})
		if err != nil {
			return err
		}
		if approvals, err = listApprovals(r, copied); err != nil || copied.Source.ParentID == "" {
			return err
		}
		copied.Info.Permission, err = collectLimits(r, copied.Source)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Make it a session of its own: without grants for a restricted caller, new, in the sandbox of today.
	info := copied.Info
	if isRestricted(ctx) {
		info.RemoveGrants()
		info.Contract, approvals = "", nil
	}
	now := c.journal.Now().UnixMilli()
	info.Slug, info.Version = NameSlug(string(to)), c.version
	info.Time = session.SessionTime{Created: now, Updated: now}
	scope, release, err := scope.Open(ctx, c.locations, &info)
	if err == nil { // without its location the fork cannot restore files
		defer release()
		info.Sandbox = scope.ChooseNewSandbox(info.Sandbox, info.Agent)
		if err := c.shareFiles(ctx, scope, copied, &info); err != nil {
			return nil, err
		}
	}
	// What it may do is on the audit trail before the fork exists.
	if len(info.Permission) > 0 || info.Open || len(approvals) > 0 {
		what := fmt.Sprintf("rules and approvals of %s for its fork %s", from, to)
		if err := c.journal.Audit.AddEntry(ctx, audit.KindRules, what); err != nil {
			return nil, err
		}
	}
	// Commit all of it at once.
	copied.Info = info
	drafts := copied.ListDrafts()
	_, err = c.journal.Log.Append(context.WithoutCancel(ctx), to, store.Durable,
		func(tx store.Tx) ([]eventlog.Draft, error) { return drafts, c.copyApprovals(tx, copied, approvals, to) })
	if err != nil {
		return nil, err
	}
	return c.journal.ReadSession(ctx, to)
}

// collectLimits returns what the rules of a child session and of its parent sessions ask and deny, denials last.
func collectLimits(r store.Reader, child *session.Session) (limits []session.Rule, err error) {
	var denials []session.Rule
	seen := map[session.ID]bool{}
	for s, found := child, true; found && !seen[s.ID]; {
		seen[s.ID] = true
		for _, rule := range s.Permission {
			switch rule.Effect {
			case session.Ask:
				limits = append(limits, rule)
			case session.Deny:
				denials = append(denials, rule)
			}
		}
		if s.ParentID == "" {
			break
		}
		if s, found, err = r.Session(s.ParentID); err != nil {
			return nil, err
		}
	}
	return append(limits, denials...), nil
}

// shareFiles pins the contents that a revert of the fork restores, and sets the numbers of its changes in info.
func (c *Commands) shareFiles(
	ctx context.Context, scope *scope.Scope, copied *Copy, info *session.Session,
) error {
	if scope.Files == nil {
		return nil
	}
	ledger := undo.NewLedger()
	for i, d := range copied.Changes {
		ledger.AddEvent(info.ID, int64(i+1), d.Data)
	}
	if len(ledger.Changes) == 0 {
		return nil
	}
	if err := scope.Files.PinBlobs(ctx, info.ID, ledger.ListBlobs()); err != nil {
		return err
	}
	total, _ := ledger.CountChanges(ctx, scope.Files, func(undo.CallChange) bool { return true })
	info.Changes = &total
	return nil
}

// listApprovals returns the approvals that last as long as the source and were given before copied.Until.
func listApprovals(r store.ApprovalReader, copied *Copy) ([]store.Approval, error) {
	all, err := r.Approvals("")
	return slices.DeleteFunc(all, func(a store.Approval) bool {
		return a.Lifetime != session.LifetimeSession || a.Holder != string(copied.Source.ID) ||
			copied.Until > 0 && a.Time >= copied.Until
	}), err
}

// copyApprovals gives the fork those of the approvals that are not revoked.
func (c *Commands) copyApprovals(tx store.Tx, copied *Copy, approvals []store.Approval, to session.ID) error {
	now, err := listApprovals(tx, copied)
	if err != nil {
		return err
	}
	for _, a := range approvals {
		if !slices.Contains(now, a) {
			continue
		}
		a.ID, a.Holder = c.journal.IDs.New(session.PrefixSaved), string(to)
		if err := tx.PutApproval(a); err != nil {
			return err
		}
	}
	return nil
}
