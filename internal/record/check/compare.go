package check

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// compare compares the stored rows of the session with the fold of its log, byte for byte. The record of the project is
// left out: it changes without an event (session.Session).
func (w *walk) compare(r store.Reader, unfinished bool) error {
	row, ok, err := r.Session(w.id)
	if err != nil {
		return err
	}
	if !ok {
		row = nil
	}
	w.compareValue("the session's row", -1, withoutRecord(row), withoutRecord(w.fold.row))
	w.compareValue("the mark for a restart", -1, unfinished, w.fold.unfinished)
	epoch, ok, err := r.Epoch(w.id)
	if err != nil {
		return err
	}
	if !ok {
		epoch = nil
	}
	w.compareValue("the context epoch", -1, epoch, w.fold.epoch)
	for _, step := range []func(store.Reader) error{w.compareMessages, w.compareInbox, w.compareAsks, w.compareSpend} {
		if err := step(r); err != nil {
			return err
		}
	}
	return w.checkParent(r)
}

func withoutRecord(s *session.Session) *session.Session {
	if s == nil {
		return nil
	}
	out := *s
	out.RecordID = ""
	return &out
}

func (w *walk) compareValue(what string, seq int64, stored, folded any) {
	if a, b := encode(stored), encode(folded); a != b {
		w.report(
			Rebuilt, w.id, seq, "%s is %s, the log says %s", what, session.ClipText(a, maxShown),
			session.ClipText(b, maxShown),
		)
	}
}

// maxShown bounds what a violation shows of a row, in bytes.
const maxShown = 300

// compareMessages compares the stored messages with those that the log folds to.
func (w *walk) compareMessages(r store.Reader) error {
	rows, err := store.ReadRawMessages(r, w.id, store.MessageQuery{After: -1})
	if err != nil {
		return err
	}
	left := len(w.fold.messages)
	// Each stored row must be what the log folds to.
	for _, row := range rows {
		m, ok, _ := store.FindMessage(w.fold, w.id, row.ID)
		if !ok {
			w.report(Rebuilt, w.id, row.Seq, "the message %s is not in the log", row.ID)
			continue
		}
		left--
		if head := m.Meta(); head.Seq != row.Seq || head.Type != row.Type {
			w.report(
				Rebuilt, w.id, row.Seq, "the message %s is %s#%d, the log says %s#%d", row.ID, row.Type, row.Seq,
				head.Type, head.Seq,
			)
		}
		if folded := []byte(encode(m)); !bytes.Equal(row.Data, folded) {
			w.report(
				Rebuilt, w.id, row.Seq, "the message %s is %s, the log says %s", row.ID,
				session.ClipText(string(row.Data), maxShown),
				session.ClipText(string(folded), maxShown),
			)
		}
	}
	// What is left of the fold has no row.
	if left > 0 {
		w.report(Rebuilt, w.id, -1, "%d messages of the log are missing", left)
	}
	return nil
}

func (w *walk) compareInbox(r store.Reader) error {
	for id := range w.prompts {
		in, ok, err := store.FindInput(r, id)
		if err != nil {
			return err
		}
		if !ok {
			in = nil
		}
		w.compareValue("the prompt "+string(id), -1, in, w.fold.inputs[id])
	}
	pending, err := store.PendingInputs(r, w.id, "", 0)
	if err != nil {
		return err
	}
	folded, _ := store.PendingInputs(w.fold, w.id, "", 0)
	w.compareValue("the inbox", -1, idsOf(pending), idsOf(folded))
	return nil
}

func idsOf(ins []*session.Input) []session.MessageID {
	out := make([]session.MessageID, len(ins))
	for i, in := range ins {
		out[i] = in.ID
	}
	return out
}

func (w *walk) compareAsks(r store.Reader) error {
	asks, err := r.Asks(store.AskQuery{SessionID: w.id})
	if err != nil {
		return err
	}
	for _, a := range asks {
		w.compareValue("the ask "+string(a.ID), a.Seq, a, w.fold.asks[a.ID])
	}
	if len(asks) != len(w.fold.asks) {
		w.report(Rebuilt, w.id, -1, "%d asks are stored, the log has %d", len(asks), len(w.fold.asks))
	}
	return nil
}

func (w *walk) compareSpend(r store.Reader) error {
	spent, err := r.Spent(w.id, 0)
	if err != nil {
		return err
	}
	bySeq := func(a, b store.Spend) int { return cmp.Compare(a.Seq, b.Seq) }
	slices.SortFunc(spent, bySeq)
	slices.SortFunc(w.fold.spent, bySeq)
	if len(spent) == 0 && len(w.fold.spent) == 0 {
		return nil
	}
	w.compareValue("the spend", -1, spent, w.fold.spent)
	return nil
}

// checkParent checks that the parent session exists.
func (w *walk) checkParent(r store.Reader) error {
	if w.fold.row == nil || w.fold.row.ParentID == "" {
		return nil
	}
	_, ok, err := r.Session(w.fold.row.ParentID)
	if err == nil && !ok {
		w.report(Parent, w.id, 0, "the parent session %s does not exist", w.fold.row.ParentID)
	}
	return err
}
