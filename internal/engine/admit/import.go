package admit

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// ImportRequest is one piece of a session that comes from elsewhere. Every piece describes the session, so that each
// can be sent again.
type ImportRequest struct {
	Session session.Session // with Import, and the Location of the new session
	// Extends is the hash of an earlier import of the session, which this one continues: its messages are the first ones
	// of this import, or have changed at their source.
	Extends  string
	IDs      []session.MessageID // with the first piece: of all messages; none may be in use here
	Outline  []session.Outline   // with Extends: of all messages, to find those that have changed
	After    int                 // how many of the messages come before this piece
	Messages []jsontext.Value
	DryRun   bool // find out whether the piece would be refused, and write nothing
}

// ImportProgress says how much of a session is imported.
type ImportProgress struct {
	Session   *session.Session
	Messages  int  // how many are stored
	Completed bool // by this piece: of several imports of a session at once, one completes it
}

// ImportSession imports a session in pieces. The first piece creates it, hidden from lists; the piece with the last
// message shows it. A piece may be sent again: what is stored does not change. Without messages the result says where
// to continue. A different session under the id, or one that was changed meanwhile, is a conflict. An import that was
// completed grows by an import that extends it, unless the session was used here meanwhile.
//
// No rights are imported: rules that allow are dropped, and the session is not open. It begins in the sandbox of new
// sessions. Of a staged revert only what hides messages is imported: it changes no file here.
func (c *Commands) ImportSession(ctx context.Context, r ImportRequest) (*ImportProgress, error) {
	if err := c.checkNewWork(); err != nil {
		return nil, err
	}
	if err := checkImport(&r); err != nil {
		return nil, err
	}
	// Open its directory.
	scope, release, err := c.locations.Scope(ctx, r.Session.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if r.DryRun {
		return c.tryPiece(ctx, r, scope)
	}
	// Store what is not stored yet.
	var out ImportProgress
	_, err = c.journal.Log.Append(context.WithoutCancel(ctx), r.Session.ID, store.Durable,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			drafts, err := draftPiece(tx, r, scope)
			if out.Completed = endsImport(drafts); out.Completed {
				drafts[len(drafts)-1].Data.(*session.Imported).At = c.journal.Now().UnixMilli()
			}
			return drafts, err
		})
	if err != nil {
		return nil, err
	}
	// Say how much is stored now.
	err = c.journal.Store.View(ctx, func(rd store.Reader) (err error) {
		if out.Session, err = store.FindSession(rd, r.Session.ID); err != nil {
			return err
		}
		out.Messages, err = countStored(rd, r, out.Session)
		return err
	})
	return &out, err
}

// tryPiece returns the error that the piece would have, or how much of the session is stored now.
func (c *Commands) tryPiece(ctx context.Context, r ImportRequest, scope *scope.Scope) (*ImportProgress, error) {
	out := &ImportProgress{Session: &r.Session}
	err := c.journal.Store.View(ctx, func(rd store.Reader) error {
		drafts, err := draftPiece(rd, r, scope)
		if err != nil {
			return err
		}
		out.Completed = endsImport(drafts)
		s, ok, err := rd.Session(r.Session.ID)
		if err == nil && ok {
			out.Session = s
			out.Messages, err = countStored(rd, r, s)
		}
		return err
	})
	return out, err
}

// endsImport reports whether the events complete an import.
func endsImport(drafts []eventlog.Draft) bool {
	if len(drafts) == 0 {
		return false
	}
	_, ok := drafts[len(drafts)-1].Data.(*session.Imported)
	return ok
}

func checkImport(r *ImportRequest) error {
	s := &r.Session
	if err := session.CheckID("session.id", session.PrefixSession, string(s.ID)); err != nil {
		return err
	}
	switch {
	case s.Import == nil || s.Import.Hash == "" || s.Import.From == "":
		return session.Errorf(session.CodeInvalid, "import metadata is missing: it needs from and hash").
			At("session.import")
	case r.After < 0 || r.After+len(r.Messages) > s.Import.Messages:
		return session.Errorf(session.CodeInvalid,
			"the import contains more messages than the announced %d", s.Import.Messages).At("after")
	case len(r.Outline) > 0 && len(r.Outline) != s.Import.Messages:
		return session.Errorf(session.CodeInvalid, "the outline has %d messages of %d", len(r.Outline), s.Import.Messages).
			At("outline")
	}
	title, err := parseTitle(s.Title)
	if err != nil {
		return err
	}
	s.Title = title
	return cmp.Or(
		session.CheckRules("session.permission", s.Permission), checkMetadata(s.Metadata), checkMessages(r.Messages),
	)
}

// checkMessages checks that the messages can be read back once they are stored.
func checkMessages(ms []jsontext.Value) error {
	for i, raw := range ms {
		m, err := session.DecodeMessage(raw)
		if err != nil {
			return session.Errorf(session.CodeInvalid, "message %d is invalid: %v", i, err).At("messages")
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

// draftPiece returns the events for the part of the request that is not stored yet.
func draftPiece(rd store.Reader, r ImportRequest, scope *scope.Scope) ([]eventlog.Draft, error) {
	// Begin with a new session.
	s, ok, err := rd.Session(r.Session.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		drafts, err := draftImported(rd, r, scope)
		if err != nil {
			return nil, err
		}
		return draftMessages(rd, r, 0, drafts)
	}
	// Continue an earlier import, or refuse another session with this id.
	switch {
	case s.Import != nil && r.Extends != "" && s.Import.Hash == r.Extends && r.Extends != r.Session.Import.Hash:
		return draftGrowth(rd, r, s)
	case s.Import == nil || s.Import.Hash != r.Session.Import.Hash:
		return nil, session.Conflict("session", string(s.ID),
			"exists and is not the imported one; it can be imported in another home (CAIRN_HOME)")
	case s.Import.Whole && r.Extends != "": // the messages are the same
		return draftState(rd, r, s)
	case s.Import.Whole:
		return nil, nil
	}
	// Go on behind the messages that are stored, unless others came.
	head, err := rd.Head(s.ID)
	if err != nil {
		return nil, err
	}
	if head > int64(s.Import.Messages) {
		return nil, session.Conflict("session", string(s.ID),
			"was used before its import was complete; delete it and import it again")
	}
	return draftMessages(rd, r, int(head), nil)
}

// draftImported returns the event that creates the session.
func draftImported(rd store.Reader, r ImportRequest, scope *scope.Scope) ([]eventlog.Draft, error) {
	if err := checkUnspent(rd, r.Session.ID); err != nil {
		return nil, err
	}
	for _, m := range r.IDs {
		if err := checkUnused(rd, m); err != nil {
			return nil, err
		}
	}
	if p := r.Session.ParentID; p != "" { // it must be here: imports of the same source
		parent, ok, err := rd.Session(p)
		if err != nil {
			return nil, err
		}
		if !ok || parent.Import == nil || parent.Import.From != r.Session.Import.From {
			r.Session.ParentID = ""
		}
	}
	return eventlog.NewDrafts(&session.Created{
		Fact: session.Fact{Timestamp: r.Session.Time.Created}, Info: buildImported(r.Session, scope),
	}), nil
}

// draftMessages appends the events for the messages that follow the first stored ones and, with the last message, the
// end of the import.
func draftMessages(rd store.Reader, r ImportRequest, stored int, drafts []eventlog.Draft) ([]eventlog.Draft, error) {
	drafts, isLast, err := draftMissing(rd, r, stored, drafts)
	if err != nil || !isLast {
		return drafts, err
	}
	t := r.Session.Time
	return append(drafts, eventlog.NewDrafts(&session.Imported{
		Fact: session.Fact{Timestamp: t.Updated}, Archived: t.Archived, Updated: t.Updated,
		Hash: r.Session.Import.Hash, Messages: r.Session.Import.Messages,
	})...), nil
}

// draftMissing appends the events for the messages that follow the first stored ones. It reports whether the last
// message of the import is among them or stored.
func draftMissing(
	rd store.Reader, r ImportRequest, stored int, drafts []eventlog.Draft,
) (out []eventlog.Draft, isLast bool, err error) {
	if r.After > stored {
		return nil, false, session.Conflict("session", string(r.Session.ID),
			"lacks the messages before these; import it again from the beginning")
	}
	// A message that the drafts remove may come again.
	isRemoved := map[session.MessageID]bool{}
	for _, d := range drafts {
		if e, ok := d.Data.(*session.MessageRemoved); ok {
			isRemoved[e.MessageID] = true
		}
	}
	missing := r.Messages[min(stored-r.After, len(r.Messages)):]
	for _, raw := range missing {
		m, err := session.DecodeMessage(raw)
		if err != nil {
			return nil, false, err
		}
		if id := m.Meta().ID; !isRemoved[id] {
			if err := checkUnused(rd, id); err != nil {
				return nil, false, err
			}
		}
		drafts = append(drafts, eventlog.Draft{Data: &session.MessageImported{
			Fact: session.Fact{Timestamp: m.Meta().Time.Created}, Message: raw,
		}})
	}
	return drafts, stored+len(missing) == r.Session.Import.Messages, nil
}

func checkUnused(rd store.Reader, m session.MessageID) error {
	owner, _, err := rd.Message(m)
	if owner == "" {
		return err
	}
	return session.Conflict("message", string(m), "exists in session "+string(owner)+"; delete that session first")
}

// buildImported returns the session as it is created: in the location of this machine, and hidden until its import is
// complete.
func buildImported(s session.Session, scope *scope.Scope) session.Session {
	t := s.Time
	out := session.Session{
		ID: s.ID, ParentID: s.ParentID, ProjectID: scope.ProjectID, RecordID: scope.RecordID, Agent: s.Agent,
		Model: s.Model, Cost: s.Cost, Tokens: s.Tokens,
		Title: s.Title, TitledBy: "user", Summary: s.Summary,
		Time:     session.SessionTime{Created: t.Created, Updated: t.Updated, Archived: max(t.Updated, 1)},
		Location: scope.Location, Subpath: scope.Subpath, Slug: cmp.Or(s.Slug, NameSlug(string(s.ID))), Version: s.Version,
		Metadata: s.Metadata, Todos: s.Todos, Changes: s.Changes, Sandbox: scope.ChooseNewSandbox("", s.Agent),
		Revert: buildRevert(s.Revert),
	}
	incomplete := *s.Import
	incomplete.Whole = false
	out.Import = &incomplete
	for _, rule := range s.Permission {
		if rule.Effect != session.Allow {
			out.Permission = append(out.Permission, rule)
		}
	}
	return out
}

// buildRevert returns what is imported of a staged revert: what hides messages.
func buildRevert(r *session.Revert) *session.Revert {
	if r == nil {
		return nil
	}
	out := &session.Revert{
		MessageID: r.MessageID, PartID: r.PartID, Exclusive: r.Exclusive, Snapshot: r.Snapshot, Diff: r.Diff,
	}
	if r.Diff != "" {
		out.Unknown = []string{"the files were taken back where the session was exported, and are not changed here"}
	}
	return out
}
