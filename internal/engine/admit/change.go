package admit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// SwitchAgent selects the agent of the next turn. Selecting the same agent again commits no event (AD-12).
func (c *Commands) SwitchAgent(ctx context.Context, id session.ID, agent string) error {
	return c.selectNext(ctx, id, func(s *session.Session, scope *scope.Scope) (session.EventData, error) {
		if err := scope.CheckSelection(agent, nil); err != nil || s.Agent == agent {
			return nil, err
		}
		return &session.AgentSwitched{MessageID: c.journal.NewMessageID(), Agent: agent}, nil
	})
}

// SwitchModel selects the model of the next turn.
func (c *Commands) SwitchModel(ctx context.Context, id session.ID, m session.ModelRef) error {
	return c.selectNext(ctx, id, func(s *session.Session, scope *scope.Scope) (session.EventData, error) {
		if err := scope.CheckSelection("", &m); err != nil || (s.Model != nil && s.Model.Equal(m)) {
			return nil, err
		}
		return &session.ModelSwitched{MessageID: c.journal.NewMessageID(), Model: m}, nil
	})
}

// selectNext commits the selection that decide returns after checking it against the session's location; nil is no
// change. A turn that waits for its next attempt is attempted at once.
func (c *Commands) selectNext(
	ctx context.Context, id session.ID, decide func(*session.Session, *scope.Scope) (session.EventData, error),
) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return err
	}
	defer release()
	fact, err := decide(s, scope)
	if err != nil || fact == nil {
		return err
	}
	if err := c.journal.AppendFacts(ctx, id, fact); err != nil {
		return err
	}
	c.scheduler.EndPause(id)
	return nil
}

// SessionChange holds new values for a session; nil fields stay.
type SessionChange struct {
	Title      *string
	Summary    *string         // of the session, in prose; "" removes it
	Archived   *bool           // hidden from lists, or shown again
	ArchivedAt int64           // when it was hidden, in milliseconds; 0 is now
	Permission *[]session.Rule // replaces all rules of the session
	Metadata   jsontext.Value  // an object that clients store with the session
	Tags       session.TagChange
}

// ChangeSession applies a change to a session, all of it or nothing. A title set here is the user's: no automatic
// title replaces it.
func (c *Commands) ChangeSession(ctx context.Context, id session.ID, change SessionChange) error {
	facts, err := c.checkChange(ctx, id, change)
	if err != nil {
		return err
	}
	build := func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, id)
		if err == nil && change.Permission != nil && !isTightened(s.Permission, *change.Permission) {
			err = requireRules(ctx) // another caller has changed them meanwhile
		}
		if err != nil {
			return nil, err
		}
		// Tags that stay the same are no event.
		tags, err := change.Tags.Apply(s.Tags)
		if err != nil || slices.Equal(tags, s.Tags) {
			return eventlog.NewDrafts(facts...), err
		}
		return eventlog.NewDrafts(append(slices.Clone(facts), &session.Tagged{Tags: tags})...), nil
	}
	_, err = c.journal.Log.Append(context.WithoutCancel(ctx), id, store.Durable, build)
	if err != nil || change.Archived == nil || !*change.Archived {
		return err
	}
	if s, err := c.journal.ReadSession(ctx, id); err == nil {
		c.notifyEnded(ctx, s, extension.CauseArchived)
	}
	return nil
}

// checkChange returns the facts of a change without its tags, which depend on those that the session has. New rules are
// in the audit log when it returns.
func (c *Commands) checkChange(ctx context.Context, id session.ID, change SessionChange) ([]session.EventData, error) {
	var facts []session.EventData
	if _, err := change.Tags.Apply(nil); err != nil { // before anything is in the audit log
		return nil, err
	}
	if change.Title != nil {
		title, err := parseTitle(*change.Title)
		if err != nil {
			return nil, err
		}
		facts = append(facts, &session.Renamed{Title: title, By: "user"})
	}
	if change.Summary != nil {
		text, err := session.NewProseSummary(*change.Summary)
		if err != nil {
			return nil, err
		}
		facts = append(facts, &session.Summarized{ProseSummary: text})
	}
	if change.Permission != nil {
		// The new rules replace the old ones, which may deny more. What is refused here is not in the audit log.
		s, err := c.journal.ReadSession(ctx, id)
		if err == nil && !isTightened(s.Permission, *change.Permission) {
			err = requireRules(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := session.CheckRules("permission", *change.Permission); err != nil {
			return nil, err
		}
		if err := c.recordRules(ctx, id, *change.Permission); err != nil {
			return nil, err
		}
		facts = append(facts, &session.PermissionSet{Rules: *change.Permission})
	}
	if change.Metadata != nil {
		if err := checkMetadata(change.Metadata); err != nil {
			return nil, err
		}
		facts = append(facts, &session.MetadataSet{Metadata: change.Metadata})
	}
	if change.Archived != nil {
		d := &session.Archived{}
		if *change.Archived {
			d.At = cmp.Or(change.ArchivedAt, c.journal.Now().UnixMilli())
		}
		facts = append(facts, d)
	}
	return facts, nil
}

// RecordShare records where the session is shared; nil means that it is not shared.
func (c *Commands) RecordShare(ctx context.Context, id session.ID, s *session.Share) error {
	return c.journal.AppendFacts(ctx, id, &session.Shared{Share: s})
}

func requireRules(ctx context.Context) error {
	return caller.Require(ctx, caller.Approve, "a change of a session's rules that does more than deny")
}

// isTightened reports whether the new rules of a session are its old ones with denies after them. An old rule may be
// missing if one of these denies all that it is about: {bash "git *" ask} is, before {bash "*" deny}.
func isTightened(old, rules []session.Rule) bool {
	missing := map[string]bool{} // actions
	for _, r := range old {
		if len(rules) > 0 && rules[0] == r {
			rules = rules[1:]
			continue
		}
		missing[r.Action] = true
	}
	for _, r := range rules {
		if r.Effect != session.Deny {
			return false
		}
		if r.Resource == "*" {
			delete(missing, r.Action)
		}
	}
	return len(missing) == 0
}

// notifyEnded tells the extensions of the session's location that the session has ended.
func (c *Commands) notifyEnded(ctx context.Context, s *session.Session, cause string) {
	if s.ParentID != "" {
		return
	}
	c.journal.Events.Notify(c.locations.Chain(ctx, s.Location), extension.Event{
		Type: extension.EventSessionEnded, SessionID: s.ID, Agent: s.Agent, Cause: cause,
	})
}

// recordRules records new rules of a session in the audit log.
func (c *Commands) recordRules(ctx context.Context, id session.ID, rules []session.Rule) error {
	text := make([]string, len(rules))
	for i, r := range rules {
		text[i] = fmt.Sprintf("%s %s %s", r.Effect, r.Action, r.Resource)
	}
	return c.journal.Audit.AddEntry(ctx, audit.KindRules, fmt.Sprintf("rules of %s: %s", id, strings.Join(text, "; ")))
}

// recordGrants records in the audit log what a new session may do without an ask or without a sandbox. Open sessions
// are not recorded: every session of OpenCode's clients is one, so the entry would tell nothing.
func (c *Commands) recordGrants(ctx context.Context, r CreateRequest) error {
	if r.Sandbox == session.SandboxOff {
		if err := c.journal.Audit.AddEntry(ctx, audit.KindRules, fmt.Sprintf("no sandbox for %s", r.ID)); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(r.Permission, func(rule session.Rule) bool { return rule.Effect == session.Allow }) {
		return nil
	}
	return c.recordRules(ctx, r.ID, r.Permission)
}

// SetBudget replaces the session's budget; nil removes it.
func (c *Commands) SetBudget(ctx context.Context, id session.ID, b *session.Budget) error {
	if err := b.Check("budget"); err != nil {
		return err
	}
	if err := c.journal.Audit.AddEntry(ctx, audit.KindRules, fmt.Sprintf("budget of %s", id)); err != nil {
		return err
	}
	return c.journal.AppendFacts(ctx, id, &session.BudgetSet{Budget: b})
}
