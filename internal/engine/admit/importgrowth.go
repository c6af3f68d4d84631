package admit

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// How an imported session follows its source. What a program writes while it works changes until the turn ends: calls get
// their results, and answers their other parts. So a session that was not used here becomes what the source says by now:
// the messages up to the first one that differs stay, the others are removed, and those of the source follow.

// settings are the kinds of events that are no use of an imported session: they say how it is shown and what it may do,
// not what was said in it.
var settings = []session.Kind{
	session.KindRenamed, session.KindSummarized, session.KindArchived, session.KindTagged, session.KindPermissionSet,
	session.KindBudgetSet, session.KindMetadataSet, session.KindMoved,
}

// usesOfImports returns the kinds of events that are a use of an imported session. MessageRemoved can be either.
func usesOfImports() []session.Kind {
	others := append([]session.Kind{
		session.KindCreated, session.KindMessageImported, session.KindMessageRemoved, session.KindImported,
	}, settings...)
	return slices.DeleteFunc(session.ListKinds(), func(k session.Kind) bool { return slices.Contains(others, k) })
}

// maxSettings bounds the events of an imported session beside its messages and uses. A session with more counts as used.
const maxSettings = 100_000

// countImported returns how many of the imported session's messages are stored, and whether the session was used since:
// whether it has other events than those of its imports and settings.
func countImported(rd store.Reader, s *session.Session) (stored int, used bool, err error) {
	head, err := rd.Head(s.ID)
	if err != nil {
		return 0, false, err
	}
	uses, err := rd.Events(s.ID, 0, 1, usesOfImports()...)
	if err != nil || len(uses) > 0 {
		return s.Import.Messages, true, err
	}
	// All events but these append a message.
	kinds := append([]session.Kind{session.KindImported, session.KindMessageRemoved}, settings...)
	others, err := rd.Events(s.ID, 0, maxSettings, kinds...)
	if err != nil || len(others) == maxSettings {
		return s.Import.Messages, true, err
	}
	stored = int(head) - len(others)
	for _, row := range others {
		if row.Kind != session.KindMessageRemoved {
			continue
		}
		data, err := session.DecodeData(row.Kind, row.Version, row.Data)
		if err != nil {
			return 0, false, err
		}
		if d, ok := data.(*session.MessageRemoved); !ok || !d.ByImport {
			return s.Import.Messages, true, nil
		}
		stored--
	}
	return stored, false, nil
}

// countStored returns how many of the request's messages are stored, from the first one on.
func countStored(rd store.Reader, r ImportRequest, s *session.Session) (int, error) {
	if len(r.Outline) > 0 && s.Import != nil && s.Import.Hash == r.Extends {
		same, _, err := compareStored(rd, r)
		return same, err
	}
	if !s.Import.Whole && r.Extends == "" { // one event for each message follows the first
		head, err := rd.Head(s.ID)
		return int(min(head, int64(s.Import.Messages))), err
	}
	stored, _, err := countImported(rd, s)
	return stored, err
}

// draftGrowth returns the events that make a session what its source is by now, as far as the piece has it.
func draftGrowth(rd store.Reader, r ImportRequest, s *session.Session) ([]eventlog.Draft, error) {
	stored, used, err := countImported(rd, s)
	if err != nil {
		return nil, err
	}
	if used {
		return nil, session.Conflict("session", string(s.ID), "was used since its import, so that the import cannot go on in it")
	}
	var drafts []eventlog.Draft
	switch {
	case len(r.Outline) > 0: // find out where the messages differ
		same, lost, err := compareStored(rd, r)
		if err != nil {
			return nil, err
		}
		if lost {
			return nil, session.Conflict("session", string(s.ID), "has messages that its source has lost")
		}
		stored = same
	case r.After < stored: // a piece that was sent before, or the first one that differs
		if stored, drafts, err = draftRemovals(rd, r, stored); err != nil {
			return nil, err
		}
	}
	drafts, isLast, err := draftMissing(rd, r, stored, drafts)
	if err != nil || !isLast {
		return drafts, err
	}
	end, err := endGrowth(rd, r, s)
	return append(drafts, eventlog.NewDrafts(end)...), err
}

// compareStored returns how many messages are stored as the request's outline has them, from the first one on. lost
// reports whether stored messages, or items of them, are missing in the request although it has no new message: then the
// source lost something, by damage or on purpose, and has not gone on since.
func compareStored(rd store.Reader, r ImportRequest) (same int, lost bool, err error) {
	isStored, items := map[session.MessageID]bool{}, 0 // from the first difference on
	err = rd.RawMessages(r.Session.ID, store.MessageQuery{After: -1}, func(row *store.RawMessage) error {
		m, err := row.Message()
		if err != nil {
			return err
		}
		o := session.NewOutline(m, row.Data)
		if len(isStored) == 0 && same < len(r.Outline) && r.Outline[same] == o {
			same++
			return nil
		}
		isStored[o.ID] = true
		items += o.Items
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	found := 0
	for _, o := range r.Outline[same:] {
		if isStored[o.ID] {
			found++
			items -= o.Items
		}
	}
	hasNew := found < len(r.Outline)-same
	return same, !hasNew && (found < len(isStored) || items > 0), nil
}

// draftRemovals returns the events that remove the stored messages from the first one on that differs from the piece's,
// and how many stay.
func draftRemovals(rd store.Reader, r ImportRequest, stored int) (kept int, drafts []eventlog.Draft, err error) {
	at := 0
	err = rd.RawMessages(r.Session.ID, store.MessageQuery{After: -1}, func(row *store.RawMessage) error {
		n := at - r.After
		at++
		if len(drafts) == 0 { // nothing differs before this one
			if n < 0 || n >= len(r.Messages) {
				return nil
			}
			isSame, err := isStoredForm(r.Messages[n], row.Data)
			if err != nil || isSame {
				return err
			}
			stored = at - 1
		}
		m, err := row.Message()
		if err != nil {
			return err
		}
		d := newRemoval(m)
		d.Timestamp, d.ByImport = r.Session.Time.Updated, true
		drafts = append(drafts, eventlog.Draft{Data: d})
		return nil
	})
	return stored, drafts, err
}

// isStoredForm reports whether a message of a request is stored as these bytes.
func isStoredForm(raw, stored []byte) (bool, error) {
	m, err := session.DecodeMessage(raw)
	if err != nil {
		return false, err
	}
	encoded, err := session.EncodeMessage(m)
	return string(encoded) == string(stored), err
}

// endGrowth returns the end of an import that changed the session. What a person set here stays: the title and the archive
// time.
func endGrowth(rd store.Reader, r ImportRequest, s *session.Session) (*session.Imported, error) {
	from := r.Session
	end := &session.Imported{
		Fact: session.Fact{Timestamp: from.Time.Updated}, Archived: from.Time.Archived, Updated: from.Time.Updated,
		Hash: from.Import.Hash, Messages: from.Import.Messages, Source: newSourceState(&from),
	}
	archived, err := rd.Events(s.ID, 0, 1, session.KindArchived)
	if err != nil {
		return nil, err
	}
	if len(archived) > 0 {
		end.Archived = s.Time.Archived
	}
	end.Title, err = chooseSourceTitle(rd, r, s)
	return end, err
}

func newSourceState(s *session.Session) *session.SourceState {
	return &session.SourceState{
		Agent: s.Agent, Model: s.Model, Cost: s.Cost, Tokens: s.Tokens, Todos: s.Todos, Revert: buildRevert(s.Revert),
	}
}

// chooseSourceTitle returns the title of the source, "" if the session has it or was named here.
func chooseSourceTitle(rd store.Reader, r ImportRequest, s *session.Session) (string, error) {
	named, err := rd.Events(s.ID, 0, 1, session.KindRenamed)
	if err != nil || len(named) > 0 || r.Session.Title == s.Title {
		return "", err
	}
	return r.Session.Title, nil
}

// draftState returns the event that gives a session what its source says of it beside its messages, which are the same:
// the title, and, unless the session was used here, a staged revert. It returns nothing if the session has these.
func draftState(rd store.Reader, r ImportRequest, s *session.Session) ([]eventlog.Draft, error) {
	end := &session.Imported{
		Fact: session.Fact{Timestamp: r.Session.Time.Updated}, Archived: s.Time.Archived, Updated: s.Time.Updated,
	}
	var err error
	if end.Title, err = chooseSourceTitle(rd, r, s); err != nil {
		return nil, err
	}
	if !r.Session.Revert.IsSamePoint(s.Revert) {
		_, used, err := countImported(rd, s)
		if err != nil {
			return nil, err
		}
		if !used {
			end.Source = newSourceState(&r.Session)
		}
	}
	if end.Title == "" && end.Source == nil {
		return nil, nil
	}
	return eventlog.NewDrafts(end), nil
}
