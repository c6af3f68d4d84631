package admit

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// copier gives the messages of a fork, and their parts, ids of their own.
type copier struct {
	ids      *session.IDs
	to       session.ID
	messages map[session.MessageID]session.MessageID // of the fork, by those of the source; with the second ids of V1
	parts    map[session.PartID]session.PartID       // likewise; complete when all messages are copied
	// seqs are those of the copied messages in the source, ascending. The copy of the message i has the seq i+1.
	seqs []int64
}

// sourceMessage is a message of the source.
type sourceMessage struct {
	row store.RawMessage
	cut session.PartID // of a turn: the first part that is not copied; "" if all are
}

// newCopier returns a copier for the messages ms of the source, to the session to.
func newCopier(ids *session.IDs, to session.ID, ms []sourceMessage) (*copier, error) {
	c := &copier{
		ids: ids, to: to, messages: make(map[session.MessageID]session.MessageID, len(ms)),
		parts: map[session.PartID]session.PartID{}, seqs: make([]int64, len(ms)),
	}
	for i := range ms {
		row := &ms[i].row
		c.seqs[i] = row.Seq
		var request, answer session.MessageID
		if row.Type == session.TypeCompaction || row.Type == session.TypeShell {
			m, err := row.Message()
			if err != nil {
				return nil, err
			}
			switch m := m.(type) {
			case *session.Compaction:
				request = m.RequestID
			case *session.Shell:
				answer = m.AnswerID
			}
		}
		c.addMessage(request)
		c.addMessage(row.ID)
		c.addMessage(answer)
	}
	return c, nil
}

// addMessage chooses the id of a copied message.
func (c *copier) addMessage(id session.MessageID) {
	if id != "" {
		c.messages[id] = session.MessageID(c.ids.New(session.PrefixMessage))
	}
}

// renameMessage replaces a reference to a message; one to a message that is not copied becomes empty.
func (c *copier) renameMessage(id *session.MessageID) { *id = c.messages[*id] }

// renamePart gives a part a new id and remembers it.
func (c *copier) renamePart(id *session.PartID) {
	if *id == "" {
		return
	}
	fresh := session.PartID(c.ids.New(session.PrefixPart))
	c.parts[*id] = fresh
	*id = fresh
}

// mapSeq returns the seq in the fork of the first copied message whose seq in the source is at least seq.
func (c *copier) mapSeq(seq int64) int64 {
	i, _ := slices.BinarySearch(c.seqs, seq)
	return int64(i) + 1
}

// renameIDs gives the message, its parts and its references the ids that they have in the fork. Parts get theirs in
// the order in which they are shown, as OpenCode's clients sort by id.
func (c *copier) renameIDs(m session.Message) {
	head := m.Meta()
	old := head.ID
	c.renameMessage(&head.ID)
	// Each type has references of its own. What a reference names was renamed before, or gets its id now.
	switch m := m.(type) {
	case *session.User:
		for i := range m.Parts {
			c.renamePart(&m.Parts[i].ID)
		}
	case *session.Synthetic:
		m.SessionID = c.to
	case *session.Shell:
		if m.CallID == string(m.AnswerID) {
			m.CallID = string(c.messages[m.AnswerID])
		}
		c.renameMessage(&m.AnswerID)
		c.renamePart(&m.NoteID)
		c.renamePart(&m.PartID)
	case *session.Compaction:
		c.renameMessage(&m.RequestID)
		for _, id := range []*session.PartID{&m.AskID, &m.StartID, &m.TextID, &m.EndID} {
			c.renamePart(id)
		}
		c.renameMessage(&m.Kept.MessageID)
		c.renameMessage(&m.Kept.PromptID)
		if m.Kept.Seq > 0 {
			m.Kept.Seq = c.mapSeq(m.Kept.Seq)
		}
	case *session.Assistant:
		c.renameMessage(&m.ParentID)
		c.renamePart(&m.StartID)
		for _, item := range m.Content {
			switch item := item.(type) {
			case *session.Text:
				c.renamePart(&item.PartID)
			case *session.Reasoning:
				c.renamePart(&item.PartID)
			case *session.Tool:
				c.renamePart(&item.PartID)
			}
		}
		c.renamePart(&m.EndID)
	}
	// The original form of an imported message has the ids once more.
	if len(head.Extra) > 0 {
		head.Extra = c.renameExtra(head.Extra, old)
	}
}

// renameExtra replaces the ids of the message and of parts in the JSON that an imported message has of its original
// form.
func (c *copier) renameExtra(extra []byte, message session.MessageID) []byte {
	const length = 30 // of every id
	out := bytes.Clone(extra)
	for from := 0; ; {
		i := bytes.Index(out[from:], []byte(`"prt_`))
		if i < 0 {
			break
		}
		from += i + 1
		if end := from + length; end < len(out) && out[end] == '"' {
			id := session.PartID(out[from:end])
			if c.parts[id] == "" {
				c.parts[id] = session.PartID(c.ids.New(session.PrefixPart))
			}
			copy(out[from:end], c.parts[id])
		}
	}
	return bytes.ReplaceAll(out, []byte(message), []byte(c.messages[message]))
}

// cutTurn removes the part and those after it, and makes the turn one that was interrupted: what had not ended fails.
// With an empty part no part is removed, and a turn that has ended stays as it is.
func cutTurn(a *session.Assistant, part session.PartID) {
	if part == "" && !a.Open() {
		return
	}
	if i := slices.IndexFunc(a.Content, func(item session.Content) bool { return item.ItemID() == part }); i >= 0 {
		a.Content = a.Content[:i]
	}
	at := cmp.Or(a.Time.Completed, a.Time.Created)
	fact := session.TurnFact{Fact: session.Fact{Timestamp: at}, AssistantMessageID: a.ID}
	for _, item := range slices.Clone(a.Content) {
		switch item := item.(type) {
		case *session.Text:
			if item.Time != nil && item.Time.Completed == 0 {
				item.Partial, item.Time.Completed = true, at
			}
		case *session.Reasoning:
			if item.Time != nil && item.Time.Completed == 0 {
				item.Partial, item.Time.Completed = true, at
			}
		case *session.Tool:
			if item.Time.Completed == 0 {
				a.Apply(&session.ToolFailed{TurnFact: fact, CallID: item.ID, PartID: item.PartID, Error: *forkFailure()})
			}
		}
	}
	a.Time.Completed, a.Finish, a.Structured = at, "", nil
	a.Error = forkFailure()
}

func forkFailure() *session.Failure {
	return session.Fail(session.ReasonAborted, "the session was forked here")
}
