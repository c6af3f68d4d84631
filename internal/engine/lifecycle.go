package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// CreateRequest asks for a session.
type CreateRequest struct {
	ID         session.ID // the caller's; "" makes one
	ParentID   session.ID
	Agent      string
	Model      *session.ModelRef
	Location   session.Location
	Unplaced   bool // nobody named the location: it is the server's own
	Title      string
	Permission []session.Rule
	Open       bool // what no rule decides is allowed
	Budget     *session.Budget
	Metadata   jsontext.Value // what clients keep with it, an object
}

// Create makes a session. The same id with the same content returns the session, as it is now; with other content it
// is a conflict (stricter than spec/v2 AD-1). Agent and model are checked against the location first, so that no session
// is made that cannot be prompted.
func (e *Engine) Create(ctx context.Context, r CreateRequest) (*session.Session, error) {
	if err := e.accepting(); err != nil {
		return nil, err
	}
	if r.ID == "" {
		r.ID = session.ID(e.ids.New(session.PrefixSession))
	} else if err := session.CheckID("id", session.PrefixSession, string(r.ID)); err != nil {
		return nil, err
	}
	if s, err := e.repeated(ctx, r); s != nil || err != nil {
		return s, err
	}
	scope, release, err := e.locations.Scope(ctx, r.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := firstError(scope.CheckSelection(r.Agent, r.Model), session.CheckRules("permission", r.Permission), r.Budget.Check("budget"), checkMetadata(r.Metadata)); err != nil {
		return nil, err
	}
	info, err := e.newSession(r, scope)
	if err != nil {
		return nil, err
	}
	if won, err := e.created(context.WithoutCancel(ctx), info); won || err != nil {
		return info, err
	}
	return e.repeated(ctx, r)
}

func (e *Engine) newSession(r CreateRequest, scope *location.Scope) (*session.Session, error) {
	now := e.now()
	info := &session.Session{
		ID: r.ID, ParentID: r.ParentID, ProjectID: scope.ProjectID, Agent: r.Agent, Model: r.Model,
		Time: session.SessionTime{Created: now.UnixMilli(), Updated: now.UnixMilli()}, Title: r.Title,
		Location: scope.Location, Subpath: scope.Subpath, Slug: slug(string(r.ID)), Version: e.version,
		Permission: r.Permission, Open: r.Open, Budget: r.Budget, Metadata: r.Metadata,
	}
	if r.ParentID == "" {
		info.Budget = r.Budget.Or(scope.Budget)
	}
	if info.Title == "" {
		info.Title = untitled
		if r.ParentID != "" {
			info.Title = untitledChild
		}
		info.Title += now.UTC().Format("2006-01-02T15:04:05.000Z")
		return info, nil
	}
	title, err := validTitle(info.Title)
	info.Title, info.TitledBy = title, "user"
	return info, err
}

// created commits the session's first event, unless somebody else did meanwhile.
func (e *Engine) created(ctx context.Context, info *session.Session) (won bool, _ error) {
	events, err := e.log.Append(ctx, info.ID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, ok, err := tx.Session(info.ID); err != nil || ok {
			return nil, err
		}
		if err := fresh(tx, info.ID); err != nil {
			return nil, err
		}
		if info.ParentID != "" {
			if _, err := journal.FindSession(tx, info.ParentID); err != nil {
				return nil, err
			}
		}
		return eventlog.Drafts(&session.Created{Info: *info}), nil
	})
	return len(events) > 0, err
}

// SwitchAgent selects the agent of the next turn. The same agent again is no change and no event (a deliberate
// difference, spec/v2 AD-12).
func (e *Engine) SwitchAgent(ctx context.Context, id session.ID, agent string) error {
	return e.choose(ctx, id, func(s *session.Session, scope *location.Scope) (session.EventData, error) {
		if err := scope.CheckSelection(agent, nil); err != nil || s.Agent == agent {
			return nil, err
		}
		return &session.AgentSwitched{MessageID: e.messageID(), Agent: agent}, nil
	})
}

// SwitchModel selects the model of the next turn.
func (e *Engine) SwitchModel(ctx context.Context, id session.ID, m session.ModelRef) error {
	return e.choose(ctx, id, func(s *session.Session, scope *location.Scope) (session.EventData, error) {
		if err := scope.CheckSelection("", &m); err != nil || (s.Model != nil && s.Model.Equal(m)) {
			return nil, err
		}
		return &session.ModelSwitched{MessageID: e.messageID(), Model: m}, nil
	})
}

// choose commits a choice that is checked against the session's location. Work that pauses goes on with it at once.
func (e *Engine) choose(ctx context.Context, id session.ID, f func(*session.Session, *location.Scope) (session.EventData, error)) error {
	if err := e.accepting(); err != nil {
		return err
	}
	s, err := e.session(ctx, id)
	if err != nil {
		return err
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return err
	}
	defer release()
	d, err := f(s, scope)
	if err != nil || d == nil {
		return err
	}
	if err := e.fact(ctx, id, d); err != nil {
		return err
	}
	e.pauses.cut(id)
	return nil
}

// SessionChange says what to change of a session; what is nil stays.
type SessionChange struct {
	Title      *string
	Archived   *bool           // hidden from lists, or brought back
	ArchivedAt int64           // when it was hidden, for the record; 0 is now
	Permission *[]session.Rule // the session's own rules, all of them
	Metadata   jsontext.Value  // what clients keep with it, an object
}

// Change changes a session, all of what is asked or nothing. A title set here is the user's: no automatic one replaces
// it.
func (e *Engine) Change(ctx context.Context, id session.ID, c SessionChange) error {
	var facts []session.EventData
	if c.Title != nil {
		title, err := validTitle(*c.Title)
		if err != nil {
			return err
		}
		facts = append(facts, &session.Renamed{Title: title, By: "user"})
	}
	if c.Permission != nil {
		if err := session.CheckRules("permission", *c.Permission); err != nil {
			return err
		}
		facts = append(facts, &session.PermissionSet{Rules: *c.Permission})
	}
	if c.Metadata != nil {
		if err := checkMetadata(c.Metadata); err != nil {
			return err
		}
		facts = append(facts, &session.MetadataSet{Metadata: c.Metadata})
	}
	if c.Archived != nil {
		d := &session.Archived{}
		if *c.Archived {
			d.At = cmp.Or(c.ArchivedAt, e.now().UnixMilli())
		}
		facts = append(facts, d)
	}
	return e.fact(ctx, id, facts...)
}

// maxMetadata bounds what clients keep with a session.
const maxMetadata = 64 << 10

func checkMetadata(v jsontext.Value) error {
	switch {
	case v == nil:
		return nil
	case v.Kind() != '{' || !v.IsValid():
		return session.Errorf(session.CodeInvalid, "metadata must be an object").At("metadata")
	case len(v) > maxMetadata:
		return session.Errorf(session.CodeInvalid, "metadata has %d bytes, the limit is %d", len(v), maxMetadata).At("metadata")
	default:
		return nil
	}
}

// SetBudget replaces the session's budget; nil lifts it.
func (e *Engine) SetBudget(ctx context.Context, id session.ID, b *session.Budget) error {
	if err := b.Check("budget"); err != nil {
		return err
	}
	return e.fact(ctx, id, &session.BudgetSet{Budget: b})
}

// Delete interrupts the session and its children and removes them with all that belongs to them but their spend. What is
// damaged can be deleted too.
func (e *Engine) Delete(ctx context.Context, id session.ID) error {
	if err := e.accepting(); err != nil {
		return err
	}
	last, err := e.session(ctx, id)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	var children []*session.Session
	err = e.store.View(ctx, func(r store.Reader) (err error) {
		children, err = store.ReadSessions(r, store.SessionQuery{ParentID: &id, Archived: true})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := e.Delete(ctx, c.ID); err != nil {
			return err
		}
	}
	if err := e.coordinator.interrupt(ctx, id, cause.ErrInterrupted); err != nil {
		return err
	}
	if err := e.Jobs.EndAll(ctx, id, cause.ErrCancelled); err != nil {
		return err
	}
	e.titles.cancel(id)
	var outputs []string
	remains := session.Session{ID: id}
	if last != nil {
		remains = last.Remains()
	}
	err = e.log.End(context.WithoutCancel(ctx), id, remains, func(tx store.Tx) (err error) {
		if outputs, err = outputsOf(tx, id); err != nil {
			return err
		}
		return tx.DeleteSession(id)
	})
	if err != nil {
		return err
	}
	if err := fault.Point(ctx, fault.DeletePostCommit); err != nil {
		return err
	}
	e.removeOutputs(id, outputs)
	// A wake that came while we interrupted has begun another drain: it finds nothing any more, and is stopped too.
	if err := e.coordinator.interrupt(context.WithoutCancel(ctx), id, cause.ErrInterrupted); err != nil {
		return err
	}
	e.histories.Delete(id)
	e.statuses.set(e, id, Status{Type: StatusIdle})
	return nil
}

// Interrupt stops the session's work, its jobs too, and waits until that is recorded. An idle session is left as it is; pending
// prompts stay pending until the next wake.
func (e *Engine) Interrupt(ctx context.Context, id session.ID) error {
	if _, err := e.session(ctx, id); err != nil {
		return err
	}
	rests := e.Status(id).Type == StatusIdle
	if err := e.coordinator.interrupt(ctx, id, cause.ErrInterrupted); err != nil {
		return err
	}
	if rests { // whoever stops it may have missed that it rests
		e.notify("session.status", id, map[string]any{"sessionID": id, "status": Status{Type: StatusIdle}})
	}
	return e.Jobs.EndAll(ctx, id, cause.ErrCancelled)
}

// Wait returns when the session is idle.
func (e *Engine) Wait(ctx context.Context, id session.ID) error {
	if _, err := e.session(ctx, id); err != nil {
		return err
	}
	err := e.coordinator.wait(ctx, id)
	if ctx.Err() != nil || errors.Is(err, cause.ErrShutdown) {
		return err
	}
	return nil // how the work ended is recorded in the session
}

// Resume runs the session: its pending prompts or, with none, one turn on its history as it is.
func (e *Engine) Resume(ctx context.Context, id session.ID) error {
	if _, err := e.session(ctx, id); err != nil {
		return err
	}
	return e.coordinator.run(ctx, id)
}

// Active returns the sessions that are at work in this process.
func (e *Engine) Active() []session.ID { return e.coordinator.active() }

// slug is a short name for people: adjective-noun, from the id.
func slug(id string) string {
	h := uint32(2166136261) // FNV-1a
	for _, c := range []byte(id) {
		h = (h ^ uint32(c)) * 16777619
	}
	return adjectives[int(h%uint32(len(adjectives)))] + "-" + nouns[int((h/997)%uint32(len(nouns)))]
}

var (
	adjectives = [...]string{
		"amber", "bold", "brisk", "calm", "clear", "crisp", "dapper", "eager", "fair", "fleet", "gentle", "glad", "golden",
		"keen", "kind", "lively", "lucid", "mellow", "merry", "neat", "nimble", "patient", "plain", "quiet", "sharp", "steady",
		"swift", "tidy", "warm",
	}
	nouns = [...]string{
		"anchor", "arch", "beacon", "birch", "brook", "cairn", "cedar", "cliff", "comet", "cove", "delta", "dune", "ember",
		"falcon", "fern", "field", "forge", "grove", "harbor", "heron", "lantern", "ledge", "maple", "meadow", "otter", "pebble",
		"pine", "ridge", "river", "stone", "willow",
	}
)
