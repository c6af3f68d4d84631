package engine

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// ImportRequest is one piece of a session that was made elsewhere. Every piece says what the session is, so that each can
// be sent again.
type ImportRequest struct {
	Session  session.Session     // with Import, and the Location where it is to live here
	IDs      []session.MessageID // of all its messages, with the first piece: none may be used here
	After    int                 // how many of its messages are here already
	Messages []jsontext.Value
}

// Imported says how far an import is.
type Imported struct {
	Session  *session.Session
	Messages int // how many of them are here
}

// Import brings a session from elsewhere, in pieces: the first makes it, hidden from lists, and with its last message it
// is whole and shown. What is here already is not changed, and a piece may be sent again; without messages the answer
// says where to go on. A session that has the id and is another one, or that something else has happened to meanwhile, is
// a conflict.
//
// Nothing of what it may do comes along: rules that allow stay behind, and it is not open.
func (e *Engine) Import(ctx context.Context, r ImportRequest) (*Imported, error) {
	if err := e.accepting(); err != nil {
		return nil, err
	}
	if err := checkImport(&r); err != nil {
		return nil, err
	}
	scope, release, err := e.locations.Scope(ctx, r.Session.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	var out Imported
	_, err = e.log.Append(context.WithoutCancel(ctx), r.Session.ID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		drafts, err := e.piece(tx, r, scope)
		out.Messages = max(r.After, 0) + len(r.Messages)
		return drafts, err
	})
	if err != nil {
		return nil, err
	}
	err = e.store.View(ctx, func(rd store.Reader) (err error) {
		if out.Session, err = journal.FindSession(rd, r.Session.ID); err != nil {
			return err
		}
		out.Messages, err = importedSoFar(rd, out.Session)
		return err
	})
	return &out, err
}

// importedSoFar is how many of the session's messages are here: each was one event behind the first.
func importedSoFar(r store.Reader, s *session.Session) (int, error) {
	head, err := r.Head(s.ID)
	return int(min(head, int64(s.Import.Messages))), err
}

func checkImport(r *ImportRequest) error {
	s := &r.Session
	if err := session.CheckID("session.id", session.PrefixSession, string(s.ID)); err != nil {
		return err
	}
	switch {
	case s.Import == nil || s.Import.Hash == "" || s.Import.From == "":
		return session.Errorf(session.CodeInvalid, "it is not said what is imported").At("session.import")
	case r.After < 0 || r.After+len(r.Messages) > s.Import.Messages:
		return session.Errorf(session.CodeInvalid, "there are more messages than the %d that were announced", s.Import.Messages).At("after")
	}
	title, err := validTitle(s.Title)
	if err != nil {
		return err
	}
	s.Title = title
	return firstError(session.CheckRules("session.permission", s.Permission), checkMetadata(s.Metadata), checkImported(r.Messages))
}

// checkImported sees to it that what is stored can be read again.
func checkImported(ms []jsontext.Value) error {
	for i, raw := range ms {
		m, err := session.DecodeMessage(raw)
		if err != nil {
			return session.Errorf(session.CodeInvalid, "message %d is none: %v", i, err).At("messages")
		}
		if err := session.CheckID("messages", session.PrefixMessage, string(m.Meta().ID)); err != nil {
			return err
		}
		if a, ok := m.(*session.Assistant); ok && a.Open() {
			return session.Errorf(session.CodeInvalid, "message %d is a turn that has not ended", i).At("messages")
		}
	}
	return nil
}

// piece decides what of the request is new.
func (e *Engine) piece(tx store.Tx, r ImportRequest, scope *location.Scope) ([]eventlog.Draft, error) {
	var drafts []eventlog.Draft
	have := 0
	s, ok, err := tx.Session(r.Session.ID)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		if err := fresh(tx, r.Session.ID); err != nil {
			return nil, err
		}
		for _, m := range r.IDs {
			if err := unused(tx, m); err != nil {
				return nil, err
			}
		}
		drafts = eventlog.Drafts(&session.Created{Fact: session.Fact{Timestamp: r.Session.Time.Created}, Info: e.importedSession(r.Session, scope)})
	case s.Import == nil || s.Import.Hash != r.Session.Import.Hash:
		return nil, session.Conflict("session", string(s.ID), "is here already, and is not what is imported; delete it first, or give the imported one another id")
	case s.Import.Whole:
		return nil, nil
	default:
		head, err := tx.Head(s.ID)
		if err != nil {
			return nil, err
		}
		if have = int(head); have > s.Import.Messages {
			return nil, session.Conflict("session", string(s.ID), "was used before all of it was imported; delete it and import it again")
		}
	}
	if r.After > have {
		return nil, session.Conflict("session", string(r.Session.ID), "lacks the messages before these; begin again")
	}
	news := r.Messages[min(have-r.After, len(r.Messages)):]
	for _, raw := range news {
		m, err := session.DecodeMessage(raw)
		if err != nil {
			return nil, err
		}
		if err := unused(tx, m.Meta().ID); err != nil {
			return nil, err
		}
		drafts = append(drafts, eventlog.Draft{Data: &session.MessageImported{Fact: session.Fact{Timestamp: m.Meta().Time.Created}, Message: raw}})
	}
	if have+len(news) == r.Session.Import.Messages {
		drafts = append(drafts, eventlog.Drafts(&session.Imported{
			Fact: session.Fact{Timestamp: r.Session.Time.Updated}, Archived: r.Session.Time.Archived, Updated: r.Session.Time.Updated,
		})...)
	}
	return drafts, nil
}

// fresh refuses an id under which the ledger has lines: those of another log would be taken for them.
func fresh(tx store.Tx, id session.ID) error {
	spent, err := tx.Spent(id, 0)
	if err != nil || len(spent) == 0 {
		return err
	}
	return session.Conflict("session", string(id), "was worked in here and deleted; what it cost is kept under its id, so that it cannot be another's")
}

func unused(tx store.Tx, m session.MessageID) error {
	owner, _, err := tx.Message(m)
	if owner == "" {
		return err
	}
	return session.Conflict("message", string(m), "is here already, in session "+string(owner)+"; delete that one first")
}

// importedSession is the session as it is made: at home here, hidden until all of it is there.
func (e *Engine) importedSession(s session.Session, scope *location.Scope) session.Session {
	out := session.Session{
		ID: s.ID, ProjectID: scope.ProjectID, Agent: s.Agent, Model: s.Model, Cost: s.Cost, Tokens: s.Tokens, Title: s.Title, TitledBy: "user",
		Time:     session.SessionTime{Created: s.Time.Created, Updated: s.Time.Updated, Archived: max(s.Time.Updated, 1)},
		Location: scope.Location, Subpath: scope.Subpath, Slug: s.Slug, Version: s.Version, Metadata: s.Metadata, Changes: s.Changes, Import: s.Import,
	}
	whole := *s.Import
	whole.Whole = false
	out.Import = &whole
	if out.Slug == "" {
		out.Slug = slug(string(s.ID))
	}
	for _, rule := range s.Permission {
		if rule.Effect != session.Allow {
			out.Permission = append(out.Permission, rule)
		}
	}
	return out
}
