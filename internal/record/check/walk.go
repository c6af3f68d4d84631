package check

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkSession checks one session: first its log, then its rows against the fold of the log.
func (c *checker) checkSession(ctx context.Context, r store.Reader, id session.ID) error {
	w := &walk{
		checker: c, id: id, prompts: map[session.MessageID]*promptState{}, turns: map[session.MessageID]*turnState{},
		items: map[session.PartID]*itemState{}, asks: map[session.AskID]*askState{}, events: map[session.EventID]bool{},
		fold: newScratch(id),
	}
	// Follow the log page by page, checking each event against those before it.
	for more := true; more; {
		rows, err := r.Events(id, w.next-1, page)
		if err != nil {
			return err
		}
		more = len(rows) == page
		for _, row := range rows {
			w.followRow(row)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	// The log must end where its head says.
	head, err := r.Head(id)
	if err != nil {
		return err
	}
	if head != w.next-1 {
		w.report(Gapless, id, -1, "the head is %d, the newest event %d", head, w.next-1)
	}
	if w.copied != w.copies && !w.lost {
		w.report(Gapless, w.id, -1, "%d messages are copied, not %d", w.copied, w.copies)
	}
	return w.checkRest(r)
}

// walk is one pass over a session's log. The maps hold what the log has mentioned so far.
type walk struct {
	*checker
	id       session.ID
	next     int64 // the expected seq
	copies   int64 // messages that the fork must have
	copied   int64 // messages that it has so far
	revision int64 // of the context epoch; 0 without one
	prompts  map[session.MessageID]*promptState
	turns    map[session.MessageID]*turnState
	items    map[session.PartID]*itemState
	asks     map[session.AskID]*askState
	events   map[session.EventID]bool
	fold     *scratch
	lost     bool // an event could not be read or folded, so the rows cannot be compared
}

type promptState struct {
	text     string // encoded
	delivery session.Delivery
	end      string // "promoted" or "withdrawn"
}

type turnState struct{ ended bool }

type itemState struct {
	turn          session.MessageID
	kind          session.Kind
	called, ended bool
}

type askState struct {
	part    session.PartID
	replied bool
}

// followRow checks the next event of the log. An event that cannot be read or folded marks the fold as lost.
func (w *walk) followRow(row store.EventRow) {
	// Position and identity: seqs without gaps, ids used once.
	if row.Kind == session.KindCreated && len(w.events) == 0 {
		w.next = row.Seq
	}
	if row.Seq != w.next {
		w.report(Gapless, w.id, row.Seq, "the event should have seq %d", w.next)
	}
	w.next = row.Seq + 1
	first := len(w.events) == 0
	if w.events[row.ID] {
		w.report(Gapless, w.id, row.Seq, "the event id %s is used twice", row.ID)
	}
	w.events[row.ID] = true
	// The content: readable, and of a session that was created first.
	e, err := eventlog.Decode(row)
	if err != nil {
		w.report(Readable, w.id, row.Seq, "%v", err)
		w.lost = true
		return
	}
	if _, creates := e.Data.(*session.Created); creates != first {
		w.report(Gapless, w.id, row.Seq, "the event is %s; exactly the first event must create the session", row.Kind)
	}
	w.followCopies(e)
	if stamped := e.Data.Stamp().SessionID; stamped != w.id {
		w.report(Gapless, w.id, row.Seq, "the event names session %q", stamped)
	}
	// The rules of each kind.
	w.followEpoch(e)
	w.followInbox(e)
	w.followTurn(e)
	w.followAsk(e)
	// Fold it, for the comparison with the rows.
	if err := w.fold.apply(e); err != nil {
		w.report(Rebuilt, w.id, e.Seq, "the log cannot be folded: %v", err)
		w.lost = true
	}
}

// followCopies checks that the copied messages have the seqs before the first event, and no others.
func (w *walk) followCopies(e session.Event) {
	switch d := e.Data.(type) {
	case *session.Created:
		if w.copies = d.Copied; e.Seq != d.FirstSeq() {
			w.report(Gapless, w.id, e.Seq, "the event should have seq %d", d.FirstSeq())
		}
	case *session.MessagesCopied:
		if d.First != w.copied+1 {
			w.report(Gapless, w.id, e.Seq, "the first copied message should have seq %d, not %d", w.copied+1, d.First)
		}
		w.copied += int64(len(d.Messages))
	}
}

func (w *walk) followEpoch(e session.Event) {
	change := e.Private != nil && e.Private.Epoch != nil
	if e.EndsEpoch() {
		w.revision = 0
		return
	}
	switch d := e.Data.(type) {
	case *session.RevertCommitted:
		_, ok, err := store.FindMessage(w.fold, w.id, d.MessageID)
		if !d.FilesOnly && (ok || err != nil) { // else no message goes, and the epoch stays as it is
			w.revision = 0
		}
		return
	case *session.ContextUpdated, *session.ContextBased:
		if !change {
			w.report(Epochs, w.id, e.Seq, "%s does not advance the context epoch", e.Data.Kind())
		}
	}
	if !change {
		return
	}
	if got := e.Private.Epoch.Revision; got != w.revision+1 {
		w.report(Epochs, w.id, e.Seq, "the context epoch goes from revision %d to %d", w.revision, got)
	}
	if w.revision == 0 && e.Private.Epoch.Baseline == nil {
		w.report(Epochs, w.id, e.Seq, "the context epoch begins without a baseline")
	}
	w.revision = e.Private.Epoch.Revision
}

// followInbox follows the prompts and requests of the inbox from their admission to their end.
func (w *walk) followInbox(e session.Event) {
	switch d := e.Data.(type) {
	// An id is admitted once, as a prompt or as a request for a compaction.
	case *session.PromptAdmitted:
		if w.prompts[d.MessageID] != nil {
			w.report(Admitted, w.id, e.Seq, "the prompt %s is admitted twice", d.MessageID)
		}
		w.prompts[d.MessageID] = &promptState{text: encode(d.Prompt), delivery: d.Delivery}
	case *session.CompactionAdmitted:
		if w.prompts[d.MessageID] != nil {
			w.report(Admitted, w.id, e.Seq, "the request %s is admitted twice", d.MessageID)
		}
		w.prompts[d.MessageID] = &promptState{text: encode(d.Request), delivery: d.Delivery}
	// It leaves the inbox once: promoted as it was admitted, or withdrawn.
	case *session.CompactionStarted:
		if w.prompts[d.RequestID] != nil {
			if p := w.pendingPrompt(e, d.RequestID); p != nil {
				p.end = "promoted"
			}
		}
	case *session.Prompted:
		p := w.pendingPrompt(e, d.MessageID)
		switch {
		case p == nil:
		case p.text != encode(d.Prompt) || p.delivery != d.Delivery:
			w.report(Admitted, w.id, e.Seq, "the prompt %s is not promoted as it was admitted", d.MessageID)
			fallthrough
		default:
			p.end = "promoted"
		}
	case *session.InputWithdrawn:
		if p := w.pendingPrompt(e, d.MessageID); p != nil {
			p.end = "withdrawn"
		}
	// Until then it may change.
	case *session.InputEdited:
		if p := w.pendingPrompt(e, d.MessageID); p != nil {
			p.text = encode(d.Prompt)
		}
	case *session.InputRedirected:
		if p := w.pendingPrompt(e, d.MessageID); p != nil {
			p.delivery = d.Delivery
		}
	}
}

// pendingPrompt returns a prompt that may still change. A prompt may be promoted without having been admitted.
func (w *walk) pendingPrompt(e session.Event, id session.MessageID) *promptState {
	p := w.prompts[id]
	_, promoted := e.Data.(*session.Prompted)
	switch {
	case p == nil && promoted:
		w.prompts[id] = &promptState{end: "promoted"}
	case p == nil:
		w.report(Admitted, w.id, e.Seq, "%s of the prompt %s, which was not admitted", e.Data.Kind(), id)
	case p.end != "":
		w.report(Admitted, w.id, e.Seq, "%s of the prompt %s, which is %s already", e.Data.Kind(), id, p.end)
		return nil
	}
	return p
}

func encode(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(b)
}

func (w *walk) followAsk(e session.Event) {
	switch d := e.Data.(type) {
	case *session.PermissionAsked:
		if w.asks[d.Ask.ID] != nil {
			w.report(Terminal, w.id, e.Seq, "the ask %s is made twice", d.Ask.ID)
		}
		a := &askState{}
		if d.Ask.Source != nil {
			a.part = d.Ask.Source.PartID
		}
		if it := w.items[a.part]; it != nil && it.ended {
			w.report(Terminal, w.id, e.Seq, "the call %s asks after it settled", a.part)
		}
		w.asks[d.Ask.ID] = a
	case *session.PermissionReplied:
		switch a := w.asks[d.AskID]; {
		case a == nil:
			w.report(Parent, w.id, e.Seq, "a reply to the ask %s, which was not made", d.AskID)
		case a.replied:
			w.report(Terminal, w.id, e.Seq, "the ask %s is answered twice", d.AskID)
		default:
			a.replied = true
		}
	}
}

// checkRest checks what the log leaves open, then the rows.
func (w *walk) checkRest(r store.Reader) error {
	unfinished, err := w.isUnfinished(r)
	if err != nil {
		return err
	}
	for id, t := range w.turns {
		if !t.ended && !unfinished {
			w.report(Resting, w.id, -1, "the turn %s is open, but the session is not marked as unfinished", id)
		}
	}
	for id, a := range w.asks {
		if it := w.items[a.part]; !a.replied && it != nil && it.ended {
			w.report(Resting, w.id, -1, "the ask %s is pending, but its call has settled", id)
		}
	}
	if w.lost {
		return nil
	}
	return w.compare(r, unfinished)
}

func (w *walk) isUnfinished(r store.Reader) (bool, error) {
	ids, err := r.Unfinished(0)
	for _, id := range ids {
		if id == w.id {
			return true, err
		}
	}
	return false, err
}
