package opencode

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// MessageImporter converts the messages of one session from OpenCode, in their order. A request for a summary and the
// summary that follows it become one compaction, so that the model sees what OpenCode's model would.
type MessageImporter struct {
	seen     map[session.MessageID]bool
	requests map[session.MessageID]CompactionPart // by the message that has them
	pending  *compactionRequest
}

// compactionRequest is a request for a summary whose summary may be the next message.
type compactionRequest struct {
	form    importedMessage
	message *session.User
}

// importedCompaction is importedForm for the two messages of a compaction. Alone means that the request is a message
// of its own, because other messages come between the two.
type importedCompaction struct {
	Request *importedForm `json:"request,omitzero"`
	Summary *importedForm `json:"summary,omitzero"`
	Alone   bool          `json:"alone,omitzero"`
}

// Add converts the next message and returns the messages that are complete with it, oldest first.
func (x *MessageImporter) Add(raw jsontext.Value) ([]session.Message, error) {
	m, err := MessageFromOpenCode(raw)
	if err != nil {
		return nil, err
	}
	// Ids are unique among the messages of a document.
	if x.seen == nil {
		x.seen, x.requests = map[session.MessageID]bool{}, map[session.MessageID]CompactionPart{}
	}
	if x.seen[m.Meta().ID] {
		return nil, session.Errorf(session.CodeInvalid, "another message has the id %q", m.Meta().ID).At("info.id")
	}
	x.seen[m.Meta().ID] = true
	var form importedMessage
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, err
	}
	var out []session.Message
	// The answer to a request for a compaction is the compaction; the request is part of it.
	if c := x.compactionOf(m, &form); c != nil {
		if x.pending == nil || x.pending.message.ID != c.RequestID {
			out = x.Flush()
		}
		x.pending = nil
		return append(out, c), nil
	}
	out = x.Flush()
	// A request is held until its answer decides what it is.
	if u, ok := m.(*session.User); ok {
		if part, asks := form.compactionPart(); asks {
			x.requests[u.ID] = part
			x.pending = &compactionRequest{form, u}
			return out, nil
		}
	}
	return append(out, m), nil
}

// Flush returns the request that Add holds back, if any.
func (x *MessageImporter) Flush() []session.Message {
	if x.pending == nil {
		return nil
	}
	m := x.pending.message
	x.pending = nil
	return []session.Message{m}
}

// compactionPart returns the message's request for a summary.
func (in *importedMessage) compactionPart() (p CompactionPart, ok bool) {
	for _, raw := range in.Parts {
		if headOf(raw).Type == "compaction" && json.Unmarshal(raw, &p) == nil {
			return p, true
		}
	}
	return p, false
}

// compactionOf returns the compaction that a completed summary makes, nil for any other message: a summary that failed
// hides nothing.
func (x *MessageImporter) compactionOf(m session.Message, form *importedMessage) *session.Compaction {
	a, ok := m.(*session.Assistant)
	var info struct {
		ID        session.MessageID   `json:"id"`
		SessionID session.ID          `json:"sessionID"`
		Summary   jsontext.Value      `json:"summary"`
		Time      session.MessageTime `json:"time"`
	}
	// Only a summary that succeeded, and whose request precedes it, is a compaction.
	if !ok || a.Error != nil || a.Finish == "" || json.Unmarshal(form.Info, &info) != nil ||
		string(info.Summary) != "true" {
		return nil
	}
	part, asked := x.requests[a.ParentID]
	if !asked {
		return nil
	}
	c := &session.Compaction{
		Head:    session.Head{ID: a.ID, Type: session.TypeCompaction},
		Reason:  session.CompactionManual,
		Summary: textOfTurn(a),
		SummaryAs: session.SummaryAs{
			RequestID: a.ParentID, StartID: a.StartID, EndID: a.EndID, Writer: &a.Model,
			Overflow: part.Overflow != nil && *part.Overflow, Started: a.Time.Created,
		},
	}
	c.Time.Created = cmp.Or(a.Time.Completed, a.Time.Created)
	if part.Auto {
		c.Reason = session.CompactionAuto
	}
	// The text carries what cairn noted about the compaction, if it exported it.
	for _, item := range a.Content {
		if t, ok := item.(*session.Text); ok && c.TextID == "" {
			c.TextID = t.PartID
			addFacts(c, t.Metadata)
		}
	}
	x.keepTail(c, part.TailStartID)
	x.keepPair(c, info.SessionID, form)
	return c
}

// keepPair stores with the compaction how the two messages differ from what is shown of it.
func (x *MessageImporter) keepPair(c *session.Compaction, id session.ID, summary *importedMessage) {
	adjacent := x.pending != nil && x.pending.message.ID == c.RequestID
	if adjacent {
		c.Agent, c.Model = x.pending.message.Agent, x.pending.message.Model
	}
	pair := compactionMessages(&session.Session{ID: id}, withCompletion(c), nil)
	kept := importedCompaction{Summary: summary.formOf(pair[1]), Alone: !adjacent}
	if adjacent {
		kept.Request = x.pending.form.formOf(pair[0])
	}
	keepImported(c, kept)
}

// keepTail makes the compaction keep the messages from tail on, none if it is "". If the session has no such message,
// the compaction hides nothing.
func (x *MessageImporter) keepTail(c *session.Compaction, tail session.MessageID) {
	c.Kept.MessageID, c.Kept.Seq = tail, 0
	if tail != "" && !x.seen[tail] {
		c.Kept.Seq = 1
	}
}

// textOfTurn returns the text of a turn.
func textOfTurn(a *session.Assistant) string {
	var texts []string
	for _, item := range a.Content {
		if t, ok := item.(*session.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
