// Package history turns the stored messages of a session into one llm.Request. It is pure: it takes values and returns
// values, and reads no store, clock or configuration.
//
//	History (the visible messages)                    history.go
//	  -> lowered to llm.Messages, without exclusions  lower.go, exclude.go
//	  -> + system texts, tools, structured output     request.go, structuredoutput.go, outputschema.go
//	  -> llm.Request, and how its prefix changed      prefix.go
//
// The same Input gives the same request, byte for byte: a growing conversation keeps its prefix in the provider's
// cache.
package history

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// History holds the messages that the model of a session may be shown: those since the newest compaction, in order.
// Its caller reads the rows and keeps it up to date:
//
//	if h.IsStale(compaction, edits) { h.Restart(shown, edits, hidden) }
//	h.ExtendMessages(messages of the session after h.AfterSeq())
//
// It is not safe for concurrent use.
type History struct {
	messages []session.Message
	shown    store.VisibleRange // as of the last Restart
	hidden   Hidden             // as of the last Restart
	lead     int                // 1 if messages[0] is a prompt from before the others, else 0
	stable   int                // messages[:stable] change by edits only
	edits    int                // the session's edit count as of the last Restart
}

// Hidden holds the messages before the first one that a compaction keeps, or before the compaction, that still apply.
// The settings of a prompt apply until the next prompt, also if the prompt is hidden from the model.
type Hidden struct {
	Prompt *session.User   // the newest prompt, nil without one; the compaction may keep it
	Newest session.Message // the newest one that decides what the session does next, nil without one
}

// New returns an empty history.
func New() *History {
	return &History{shown: store.EverythingVisible}
}

// IsStale reports whether the messages must be read anew: the newest compaction (its seq, -1 without one) or the
// session's edit count differ from those of the last Restart.
func (h *History) IsStale(compaction int64, edits int) bool {
	return compaction != h.shown.Compaction || edits != h.edits
}

// Restart drops all messages but the prompt before shown.After() that the newest compaction keeps; ExtendMessages then
// adds those that shown includes. hidden is what the compaction hides.
func (h *History) Restart(shown store.VisibleRange, edits int, hidden Hidden) {
	*h = History{shown: shown, edits: edits, hidden: hidden}
	if p := hidden.Prompt; p != nil && p.Seq == shown.Prompt && p.Seq <= shown.After() {
		h.messages, h.stable, h.lead = []session.Message{p}, 1, 1
	}
}

// AfterSeq returns the seq after which ExtendMessages expects the messages: everything up to it is final.
func (h *History) AfterSeq() int64 {
	if h.stable > h.lead {
		return h.messages[h.stable-1].Meta().Seq
	}
	return h.shown.After()
}

// ExtendMessages replaces the messages after AfterSeq() by fresh.
func (h *History) ExtendMessages(fresh []session.Message) {
	h.messages = h.messages[:h.stable:h.stable]
	for _, m := range fresh {
		if h.shown.Contains(m.Meta().Type, m.Meta().Seq) {
			h.messages = append(h.messages, m)
		}
	}
	h.advanceStable()
}

// AddMessage adds a message that is not stored and comes after all others.
func (h *History) AddMessage(m session.Message) {
	h.messages = append(h.messages[:len(h.messages):len(h.messages)], m)
	h.advanceStable()
}

// advanceStable moves stable up to the first message that is still open.
func (h *History) advanceStable() {
	for h.stable < len(h.messages) {
		switch m := h.messages[h.stable].(type) {
		case *session.Assistant:
			if m.Open() {
				return
			}
		case *session.Shell:
			if m.Time.Completed == 0 {
				return
			}
		}
		h.stable++
	}
}

// Messages returns the messages, oldest first: also a compaction comes after what it keeps. The caller must not change
// them.
func (h *History) Messages() []session.Message { return h.messages }

// NewestCompaction returns the seq of the newest compaction, -1 without one.
func (h *History) NewestCompaction() int64 { return h.shown.Compaction }

// NewestRequest returns the id of the request for the newest compaction, "" without a compaction.
func (h *History) NewestRequest() session.MessageID {
	for _, m := range h.messages {
		if c, ok := m.(*session.Compaction); ok {
			return c.RequestID
		}
	}
	return ""
}

// OpenTurns returns the turns that have not ended.
func (h *History) OpenTurns() []*session.Assistant {
	var turns []*session.Assistant
	for _, m := range h.messages[h.stable:] {
		if a, ok := m.(*session.Assistant); ok && a.Open() {
			turns = append(turns, a)
		}
	}
	return turns
}

// OpenShells returns the shell commands that have not ended.
func (h *History) OpenShells() []*session.Shell {
	var shells []*session.Shell
	for _, m := range h.messages[h.stable:] {
		if s, ok := m.(*session.Shell); ok && s.Time.Completed == 0 {
			shells = append(shells, s)
		}
	}
	return shells
}

// VisibleMessages returns the messages that a model is shown next to a baseline that covers everything up to
// baselineSeq, in the order in which it is shown them: the compaction before what it keeps. The slice is the caller's.
func (h *History) VisibleMessages(baselineSeq int64) []session.Message {
	shown := h.shown
	shown.Baseline = baselineSeq
	ms := make([]session.Message, 0, len(h.messages))
	for _, m := range h.messages {
		switch {
		case !shown.Contains(m.Meta().Type, m.Meta().Seq):
		case m.Meta().Type == session.TypeCompaction:
			ms = slices.Insert(ms, 0, m)
		default:
			ms = append(ms, m)
		}
	}
	return ms
}

// NewestPrompt returns the newest prompt, nil without one.
func (h *History) NewestPrompt() *session.User {
	for _, m := range slices.Backward(h.messages) {
		if u, ok := m.(*session.User); ok {
			return u
		}
	}
	return h.hidden.Prompt
}

// ListWork returns the newest hidden message that decides what the session does next, and the messages after it.
func (h *History) ListWork() []session.Message {
	if h.hidden.Newest == nil {
		return h.messages
	}
	work := []session.Message{h.hidden.Newest}
	for _, m := range h.messages {
		if m.Meta().Seq >= h.shown.Keep {
			work = append(work, m)
		}
	}
	return work
}

// NeedsTurn reports whether another turn follows without further input.
func (h *History) NeedsTurn() bool { return session.NextOf(h.ListWork()).NeedsTurn() }

// CountTurns returns the number of turns since the newest prompt, hidden ones included.
func (h *History) CountTurns() (n int64) {
	for _, m := range slices.Backward(h.messages) {
		switch m := m.(type) {
		case *session.User:
			return n
		case *session.Compaction:
			n += m.Kept.Turns
		case *session.Assistant:
			n++
		}
	}
	return n
}

// AnswerSeq returns the seq of the newest turn that ended well, -1 if none is known.
func (h *History) AnswerSeq() int64 {
	for _, m := range slices.Backward(h.ListWork()) {
		if a, ok := m.(*session.Assistant); ok && !a.Open() && a.Error == nil {
			return a.Seq
		}
	}
	return -1
}

// PromptSeq returns the seq of the newest prompt, -1 without one.
func (h *History) PromptSeq() int64 {
	if u := h.NewestPrompt(); u != nil {
		return u.Seq
	}
	return -1
}

// promptSystem returns the system text of the newest prompt, "" if it has none.
func (h *History) promptSystem() string {
	if u := h.NewestPrompt(); u != nil {
		return u.System
	}
	return ""
}

// ContinuedID returns the id of what the next turn answers: the newest prompt, or the message by which a compaction
// makes the work on it go on.
func (h *History) ContinuedID() session.MessageID {
	for _, m := range slices.Backward(h.messages) {
		switch m.(type) {
		case *session.User, *session.Synthetic:
			return m.Meta().ID
		}
	}
	if h.hidden.Prompt != nil {
		return h.hidden.Prompt.ID
	}
	return ""
}

// promptSystemOf returns the system text of the prompt with the id, or of the prompt before the synthetic message with
// the id.
func (h *History) promptSystemOf(id session.MessageID) string {
	found := false
	for _, m := range slices.Backward(h.messages) {
		found = found || m.Meta().ID == id
		if u, ok := m.(*session.User); ok && found {
			return u.System
		}
	}
	if u := h.hidden.Prompt; u != nil && (found || u.ID == id) {
		return u.System
	}
	return ""
}

// HasTurn reports whether a model has begun to answer, also in the hidden past.
func (h *History) HasTurn() bool {
	return h.shown.Compaction >= 0 || slices.ContainsFunc(h.messages, func(m session.Message) bool {
		a, ok := m.(*session.Assistant)
		return ok && hasRequested(a)
	})
}

// hasRequested reports whether a turn sent a request to its model; one that failed before has the model that it could not
// resolve.
func hasRequested(a *session.Assistant) bool { return a.Prefix != nil || a.Error == nil }

// FindOtherModel returns the model of the newest visible turn or summary that ran on another model than the given one,
// nil without any.
func (h *History) FindOtherModel(than session.ModelRef) *session.ModelRef {
	for _, m := range slices.Backward(h.messages) {
		var ref *session.ModelRef
		switch m := m.(type) {
		case *session.Assistant:
			if hasRequested(m) {
				ref = &m.Model
			}
		case *session.Compaction:
			ref = m.Model
		}
		if ref != nil && (ref.ProviderID != than.ProviderID || ref.ID != than.ID) {
			return ref
		}
	}
	return nil
}

// LastRequested returns the newest turn that recorded the prefix of its request, nil if no turn since the newest
// compaction did.
func (h *History) LastRequested() *session.Assistant {
	for _, m := range slices.Backward(h.messages) {
		if a, ok := m.(*session.Assistant); ok && a.Prefix != nil {
			return a
		}
	}
	return nil
}
