package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reply answers a pending ask: once; always, which also saves what the ask offers to save; or reject. The model reads
// the message of a rejection and continues; a rejection without one stops the session's work. A second reply to an
// ask is a conflict. The session may be any above that of the ask.
func (a *Asks) Reply(ctx context.Context, id session.ID, ask session.AskID, answer UserReply) error {
	// Check the reply by itself.
	switch answer.Reply {
	case session.ReplyOnce, session.ReplyAlways, session.ReplyReject:
	default:
		return session.Errorf(session.CodeInvalid, "reply must be once, always or reject, got %q", answer.Reply).
			At("reply")
	}
	switch answer.Lifetime {
	case "", session.LifetimeSession, session.LifetimeProcess, session.LifetimeProject:
	default:
		return session.Errorf(session.CodeInvalid,
			"lifetime must be session, process or project, got %q", answer.Lifetime).At("lifetime")
	}
	if isQuestion(ask) {
		return session.NotFound("permission", string(ask))
	}
	if err := checkPatterns(answer); err != nil {
		return err
	}
	// Settle the ask, with an approval as lasting and as wide as the person says.
	return a.settleReply(ctx, id, session.PermissionReplied{
		AskID: ask, Reply: answer.Reply, Message: answer.Message, By: session.ByUser,
	}, approvalTerms{lifetime: cmp.Or(answer.Lifetime, session.LifetimeProject), patterns: answer.Patterns})
}

// UserReply is a person's reply to an ask.
type UserReply struct {
	Reply    session.Reply
	Lifetime session.Lifetime // of the approvals that "always" saves; "" is project
	Message  string           // of a rejection, for the model
	Patterns []string         // that "always" saves instead of those that the ask offers; empty saves these
}

// approvalTerms say what "always" saves, and where and for how long it holds.
type approvalTerms struct {
	record   session.RecordID
	lifetime session.Lifetime
	patterns []string // empty for those that the ask offers
}

// The limits of the patterns of a reply.
const (
	maxPatterns = 32
	maxPattern  = 4096 // bytes
)

// checkPatterns checks the patterns that a reply gives instead of those of its ask.
func checkPatterns(answer UserReply) error {
	if len(answer.Patterns) > 0 && answer.Reply != session.ReplyAlways {
		return session.Errorf(session.CodeInvalid, "patterns are allowed with always only").At("patterns")
	}
	if len(answer.Patterns) > maxPatterns {
		return session.Errorf(session.CodeInvalid, "%d patterns are too many; the limit is %d",
			len(answer.Patterns), maxPatterns).At("patterns")
	}
	for _, p := range answer.Patterns {
		switch {
		case strings.TrimSpace(p) == "":
			return session.Errorf(session.CodeInvalid, "a pattern must not be empty").At("patterns")
		case len(p) > maxPattern:
			return session.Errorf(session.CodeInvalid, "a pattern is longer than %d bytes", maxPattern).At("patterns")
		}
	}
	return nil
}

// settleReply commits a person's reply and wakes the waiter.
func (a *Asks) settleReply(
	ctx context.Context, id session.ID, d session.PermissionReplied, terms approvalTerms,
) error {
	if err := a.checkOpen(); err != nil { // no call would act on the reply
		return err
	}
	id, err := a.findAskingSession(ctx, id, d.AskID)
	if err != nil {
		return err
	}
	// Refuse before anything is stored: a reply without a call that waits would have no effect.
	if err := a.awaitWaiter(ctx, id, d.AskID); err != nil {
		return err
	}
	if err := a.checkEffect(ctx, d.AskID, terms.patterns); err != nil {
		return err
	}
	if terms.record, err = a.findRecord(ctx, id, d); err != nil {
		return err
	}
	// Put an approval on the audit trail, then commit the reply. From here on nothing cancels it.
	if err := a.recordReply(ctx, id, d, terms); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	row, err := a.commitReply(ctx, id, d, terms)
	if err != nil {
		a.wakeAnswered(ctx, d.AskID)
		return err
	}
	// Answer the asks that the same approval or rejection decides, then wake the call.
	if err := fault.PassPoint(ctx, fault.PermReplied); err != nil {
		return err
	}
	a.cascadeReply(ctx, *row, terms.record) // before the wake: a rejected call stops the others of its turn
	a.waiters.wake(*row)
	return nil
}

// findRecord returns the record for the approvals of a reply: that of the location in which the call waits. It is an
// error if there is none and the reply would save an approval.
func (a *Asks) findRecord(
	ctx context.Context, id session.ID, d session.PermissionReplied,
) (session.RecordID, error) {
	// The call knows it, unless the user forgot it, or bound another one to the directory, while the call waits.
	if w := a.waiters.get(d.AskID); w != nil && w.record != "" {
		if d.Reply != session.ReplyAlways {
			return w.record, nil
		}
		found, err := store.Query(ctx, a.journal.Store, func(r store.Reader) ([]store.Project, error) {
			return r.Projects(store.ProjectQuery{ID: w.record})
		})
		if err != nil || len(found) > 0 {
			return w.record, err
		}
	}
	// Then it is that of the location now.
	s, err := a.journal.ReadSession(ctx, id)
	if err != nil {
		return "", err
	}
	var record session.RecordID
	scope, release, err := scope.Open(ctx, a.locations, s)
	if err == nil {
		defer release()
		record = scope.RecordID
	}
	if d.Reply != session.ReplyAlways {
		return record, nil
	}
	if err == nil && record == "" {
		err = session.Errorf(session.CodeUnavailable,
			"the approval cannot be saved: %s has no project record; reply once", s.Location.Directory)
	}
	return record, err
}

// checkEffect returns an error if one of the patterns allows no part of what the ask waits for: once it is saved, the
// same call would ask again.
func (a *Asks) checkEffect(ctx context.Context, ask session.AskID, patterns []string) error {
	w := a.waiters.get(ask)
	if w == nil || len(patterns) == 0 {
		return nil
	}
	// Compare what is allowed without and with each pattern.
	saved, err := a.readApprovals(ctx, w.record, w.holder)
	if err != nil {
		return err
	}
	before := permission.Explain(w.layers, saved, w.subject)
	for _, p := range patterns {
		rule := session.Rule{Action: w.ask.Action, Resource: p, Effect: session.Allow}
		after := permission.Explain(w.layers, append(slices.Clone(saved), rule), w.subject)
		if countAllowed(after) > countAllowed(before) {
			continue
		}
		text := fmt.Sprintf("the pattern %q allows nothing of this request", p)
		if reason := permission.FindStrictest(after).Reason; reason != "" {
			text += ": the command " + reason
		}
		return session.Errorf(session.CodeInvalid, "%s; give another one, or reply once", text).At("patterns")
	}
	return nil
}

func countAllowed(list []permission.Decision) (n int) {
	for _, d := range list {
		if d.Effect == session.Allow {
			n++
		}
	}
	return n
}

// findAskingSession returns the session of an ask that may be answered at the session with the id, else that id.
func (a *Asks) findAskingSession(ctx context.Context, id session.ID, ask session.AskID) (asks session.ID, err error) {
	asks = id
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		row, ok, err := store.FindAskOf(r, id, ask)
		if ok && err == nil {
			asks = row.SessionID
		}
		return err
	})
	return asks, err
}

// recordReply records a reply in the audit log before it is stored, with what the ask showed. The transaction refuses
// replies to asks that are unknown or answered.
func (a *Asks) recordReply(
	ctx context.Context, id session.ID, d session.PermissionReplied, terms approvalTerms,
) error {
	row, err := a.readAsk(ctx, d.AskID)
	if err != nil || row.SessionID != id || row.Reply != "" {
		return nil
	}
	reply := string(d.Reply)
	if d.Reply == session.ReplyAlways {
		reply += " (" + strings.Join(append([]string{string(terms.lifetime)}, terms.patterns...), ", ") + ")"
	}
	return a.journal.Audit.AddEntry(ctx, audit.KindApproval, fmt.Sprintf("%s to %s of %s: %s %s",
		reply, d.AskID, id, row.Action, strings.Join(row.Resources, ", ")))
}

// isQuestion reports whether the id is that of an ask with questions.
func isQuestion(id session.AskID) bool {
	return strings.HasPrefix(string(id), string(session.PrefixQuestion))
}

// checkAnswers checks a person's answers against the questions of the ask.
func checkAnswers(row *store.AskRow, d session.PermissionReplied) error {
	if !row.IsQuestion() || d.By != session.ByUser || d.Reply == session.ReplyReject {
		return nil
	}
	return session.CheckAnswers("answers", row.Questions, d.Answers)
}

// commitReply commits the reply and the approvals that it saves.
func (a *Asks) commitReply(
	ctx context.Context, id session.ID, d session.PermissionReplied, terms approvalTerms,
) (row *store.AskRow, err error) {
	_, err = a.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, err := store.FindSession(tx, id); err != nil {
			return nil, err
		}
		// The ask must still be pending in this session, and the answers must fit its questions.
		found, ok, err := store.FindAsk(tx, d.AskID)
		if err != nil {
			return nil, err
		}
		if !ok || found.SessionID != id {
			return nil, session.NotFound("permission", string(d.AskID))
		}
		for d.Answers != nil && len(d.Answers) < len(found.Questions) { // not asked again: those are unanswered
			d.Answers = append(d.Answers, []string{})
		}
		if err := checkAnswers(found, d); err != nil {
			return nil, err
		}
		// Save what the person approves: the patterns that the ask offers, or the narrower ones of the reply.
		offered := *found
		if len(terms.patterns) > 0 && len(found.Save) == 0 {
			return nil, session.Errorf(session.CodeInvalid, "the permission request offers no approval to save").At("patterns")
		} else if len(terms.patterns) > 0 {
			offered.Save = terms.patterns
		}
		if err := a.saveApprovals(tx, a.newApproval(terms.record, id, terms.lifetime), &offered, d); err != nil {
			return nil, err
		}
		found.Reply, found.Message, found.By, found.Answers = d.Reply, d.Message, d.By, d.Answers
		row = found
		fact := d
		return eventlog.NewDrafts(&fact), nil
	})
	return row, err
}

// saveApprovals saves what the ask offers if a person replied always. A cascaded reply saves nothing: no person
// agreed to the patterns of that ask.
func (a *Asks) saveApprovals(
	tx store.Tx, approval store.Approval, row *store.AskRow, d session.PermissionReplied,
) error {
	if d.Reply != session.ReplyAlways || d.By != session.ByUser {
		return nil
	}
	for i, pattern := range row.Save {
		approval.ID, approval.Action, approval.Resource = approvalID(d.AskID, i), row.Action, pattern
		if err := tx.PutApproval(approval); err != nil {
			return err
		}
	}
	return nil
}

// approvalID derives the id of a saved approval from its ask, so that a repeated transaction saves nothing twice.
func approvalID(ask session.AskID, i int) string {
	return fmt.Sprintf("%s%s%d", session.PrefixSaved, strings.TrimPrefix(string(ask), string(session.PrefixPermission)), i)
}

// cascadeReply answers the other waiting asks that the reply settles, too: after always those that are allowed now,
// after a rejection all of the same session (PM-8).
func (a *Asks) cascadeReply(ctx context.Context, row store.AskRow, record session.RecordID) {
	for _, w := range a.waiters.listOthers(record, row.ID) {
		reply, message := session.ReplyReject, row.Message
		switch {
		case row.Reply == session.ReplyReject && w.ask.SessionID == row.SessionID:
		case row.Reply == session.ReplyAlways && !w.ask.IsQuestion() &&
			a.isAllowedNow(ctx, w):
			reply, message = session.ReplyAlways, ""
		default:
			continue
		}
		fact := session.PermissionReplied{AskID: w.ask.ID, Reply: reply, Message: message, By: session.ByCascade}
		next, err := a.commitReply(ctx, w.ask.SessionID, fact, approvalTerms{})
		if err != nil {
			a.journal.Logger.Warn("answer a waiting ask", "ask", w.ask.ID, "error", err)
			continue
		}
		a.waiters.wake(*next)
	}
}

// isAllowedNow reports whether the rules and the saved approvals now allow the pending request. They never allow a
// request that needs a person.
func (a *Asks) isAllowedNow(ctx context.Context, w *waiter) bool {
	if w.person {
		return false
	}
	saved, err := a.readApprovals(ctx, w.record, w.holder)
	if err != nil {
		a.journal.Logger.Error("read approvals", "error", err)
		return false
	}
	return permission.EvaluateAll(w.layers, saved, w.subject).Effect == session.Allow
}

// arrivalTimeout bounds how long a reply waits for the call of an earlier process to wait here.
const arrivalTimeout = 5 * time.Second

// awaitWaiter makes a call that an earlier process left waiting for the ask wait here, before its reply is stored.
// Afterwards nothing would show whether the call has run.
func (a *Asks) awaitWaiter(ctx context.Context, id session.ID, ask session.AskID) error {
	// Only a call that an earlier process left open has no waiter here.
	orphaned, err := a.hasOpenTurn(ctx, id, ask)
	if err != nil || !orphaned {
		return err
	}
	arrived := a.waiters.expectArrival(ask)
	if arrived == nil {
		return nil
	}
	// Resume its session, and wait until the call asks again. If it does not, the reply is stored all the same.
	a.resume(id)
	timer := time.NewTimer(arrivalTimeout)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
		a.waiters.cancelArrival(ask)
	case <-ctx.Done():
		a.waiters.cancelArrival(ask)
	}
	return nil
}

// hasOpenTurn reports whether the ask is pending and belongs to a call of a turn that has not ended.
func (a *Asks) hasOpenTurn(ctx context.Context, id session.ID, ask session.AskID) (open bool, err error) {
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		row, ok, err := store.FindAsk(r, ask)
		if err != nil || !ok || row.SessionID != id || row.Reply != "" || PartOf(row.PendingAsk) == "" {
			return err
		}
		m, _, err := store.FindMessage(r, id, row.Source.MessageID)
		turn, isTurn := m.(*session.Assistant)
		open = isTurn && turn.Open()
		return err
	})
	return open, err
}

// wakeAnswered wakes the waiter of an ask whose reply failed to commit, if the commit happened all the same.
func (a *Asks) wakeAnswered(ctx context.Context, id session.AskID) {
	err := a.journal.Store.View(ctx, func(r store.Reader) error {
		row, ok, err := store.FindAsk(r, id)
		if ok && row.Reply != "" {
			a.waiters.wake(*row)
		}
		return err
	})
	if err != nil {
		a.journal.Logger.Error("read an ask whose reply failed", "ask", id, "error", err)
	}
}
