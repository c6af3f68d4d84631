package engine

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxContinued bounds how often in a row extensions make work go on without a prompt of a caller.
const maxContinued = 3

// continuation is the metadata of a message by which extensions made the work go on.
type continuation struct {
	Extensions []string `json:"extensions"`
}

// showStop shows the end of the work to the extensions. If one wants the work to go on, its text becomes a message to
// the model, which the next turn answers as a part of the work on the newest prompt. It reports whether the work goes on.
func (d *drain) showStop(ctx context.Context) (goesOn bool, err error) {
	if !d.answered || !d.extensions.HasStop() {
		return false, nil
	}
	// Only an answer ends work; what failed or was stopped does not go on.
	s, err := d.engine.journal.ReadSession(ctx, d.id)
	if err != nil {
		return false, err
	}
	h, err := d.readHistory(ctx)
	if err != nil {
		return false, err
	}
	answer := newestAnswer(h)
	if answer == nil {
		return false, nil
	}
	d.continued = max(d.continued, countContinuations(h))
	v := extension.Stop{
		SessionID: d.id, ParentID: s.ParentID, Agent: answer.Agent, Again: d.continued > 0, Text: answer.LastText(),
	}
	by, err := d.extensions.Stop(ctx, &v)
	if err != nil || v.Continue == "" {
		return false, err
	}
	if d.continued >= maxContinued {
		d.engine.logger.Warn("extensions want the work to go on once more, and it ends",
			"session", d.id, "extensions", by, "times", d.continued)
		return false, nil
	}
	d.continued++
	return true, d.engine.journal.AppendFacts(ctx, d.id, &session.SyntheticAdded{
		MessageID: d.engine.journal.NewMessageID(), Text: v.Continue, Metadata: continuation{by}.encode(),
	})
}

func (c continuation) encode() jsontext.Value {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil // names that are not valid text are left out
	}
	return raw
}

// newestAnswer returns the newest message if it is a turn that ended well and calls for no other one, else nil.
func newestAnswer(h *history.History) *session.Assistant {
	work := h.ListWork()
	if len(work) == 0 {
		return nil
	}
	a, ok := work[len(work)-1].(*session.Assistant)
	if !ok || a.Open() || a.Error != nil || a.Next().NeedsTurn() {
		return nil
	}
	return a
}

// countContinuations returns how often extensions made the work on the newest prompt go on.
func countContinuations(h *history.History) (n int) {
	for _, m := range h.Messages() {
		switch m := m.(type) {
		case *session.User:
			n = 0
		case *session.Synthetic:
			var c continuation
			if json.Unmarshal(m.Metadata, &c) == nil && len(c.Extensions) > 0 {
				n++
			}
		}
	}
	return n
}

// notifyCompacted tells the extensions of a compaction that ended well; end is nil without one.
func (d *drain) notifyCompacted(input *turnInput, end *session.CompactionEnded, cause string) {
	if end != nil {
		input.extensions.Notify(&d.engine.journal.Events, extension.Event{
			Type: extension.EventCompacted, SessionID: d.id, ParentID: input.session.ParentID, Agent: input.agent.ID,
			Cause: cause, Text: end.Text,
		})
	}
}

// usedSessions are the sessions that this process has created or worked on. Safe for concurrent use.
type usedSessions struct {
	mu  sync.Mutex // guards ids
	ids map[session.ID]bool
}

// maxUsed bounds the sessions that are remembered; if there are more, all of them are forgotten.
const maxUsed = 10_000

// add adds the session and reports whether it was new.
func (u *usedSessions) add(id session.ID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ids[id] {
		return false
	}
	if u.ids == nil || len(u.ids) >= maxUsed {
		u.ids = map[session.ID]bool{}
	}
	u.ids[id] = true
	return true
}

// notifyCreated tells the process and the extensions of a new session.
func (e *Engine) notifyCreated(s *scope.Scope, info *session.Session) {
	if e.onCreate != nil {
		e.onCreate(info)
	}
	if s.Chain == nil {
		return
	}
	e.used.add(info.ID)
	kind := extension.EventSessionStarted
	if info.ParentID != "" {
		kind = extension.EventSubagentStarted
	}
	agent := info.Agent
	if agent == "" {
		agent = s.DefaultAgent
	}
	e.journal.Events.Notify(s.Chain, extension.Event{
		Type: kind, SessionID: info.ID, ParentID: info.ParentID, Agent: agent, Cause: extension.CauseCreated,
	})
}

// notifyUsed tells the extensions of a session that this process works on for the first time.
func (d *drain) notifyUsed(input *turnInput) {
	if input.extensions == nil || input.session.ParentID != "" || !d.engine.used.add(d.id) {
		return
	}
	input.extensions.Notify(&d.engine.journal.Events, extension.Event{
		Type: extension.EventSessionStarted, SessionID: d.id, Agent: input.agent.ID, Cause: extension.CauseResumed,
	})
}
