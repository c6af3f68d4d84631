package sdk

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Role says what a Message is.
type Role string

// The roles.
const (
	RoleUser      Role = "user"      // a prompt
	RoleAssistant Role = "assistant" // a turn of the model, with the results of its calls
	RoleSystem    Role = "system"    // what cairn told the model in between, such as another file of instructions
	RoleShell     Role = "shell"     // a command that a person ran beside the conversation
	RoleSummary   Role = "summary"   // takes the place of what is before it, for the model
	RoleOther     Role = "other"     // all else, such as the choice of another agent or model
)

// Message is an entry of a session's history.
type Message struct {
	ID      string
	Role    Role
	Created time.Time
	Text    string // of a prompt, a summary or a command; of a turn its texts, an empty line between them
	Files   []File // of a prompt
	Parts   []Part // of a turn: what the model said and did, in order; of a command its output

	// Of a turn, and of a prompt that chooses them.
	Agent string
	Model string // as "provider/model#variant"

	// Of a turn only.
	Finish  string   // why it ended: stop, tool-calls, length, content-filter; "" while it runs, and if it failed
	Failure *Failure // nil unless it failed
	CostUSD float64  // 0 also if the price is not known
	Tokens  Tokens
}

// Part is a piece of a turn: a text, a piece of the model's reasoning, or a call of a tool. The output of a command is
// a text.
type Part struct {
	ID        string
	Text      string // of a text
	Reasoning string
	Call      *ToolCall // nil unless it is a call
}

// ToolCall is a call of a tool by the model, as far as it came.
type ToolCall struct {
	ID     string // of the provider; unique in the turn only
	Tool   string
	Input  json.RawMessage // the arguments, an object; a JSON string with the raw text while the model still writes them
	Status CallStatus
	Title  string   // for people
	Output string   // that the model reads, if it is completed
	Files  []File   // that the model gets with it
	Error  *Failure // nil unless it failed
}

// CallStatus is how far a call came. It moves forward only.
type CallStatus string

// The statuses of a call.
const (
	CallPending   CallStatus = "pending" // the model writes its arguments
	CallRunning   CallStatus = "running" // also while it waits for a permission
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "error"
)

// Failure says why a turn or a call failed.
type Failure struct {
	// Reason is one word for programs, such as aborted, auth, quota, denied, budget, tool or interrupted. More can come.
	Reason  string
	Message string // for people
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

func newFailure(f *session.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{string(f.Reason), f.Message}
}

// Messages yields the messages of the session, oldest first, those that an undo hides included. It reads them in pages,
// and ends after an error.
func (s *Session) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		q := api.MessageQuery{Oldest: true, Limit: pageSize}
		for {
			var page api.Page[session.Message]
			err := s.client.call(ctx, func(ctx context.Context) (err error) {
				page, err = s.client.api.Messages(ctx, s.id, q)
				return err
			})
			if err != nil {
				yield(Message{}, err)
				return
			}
			for _, m := range page.Data {
				if !yield(newMessage(m), nil) {
					return
				}
			}
			if q.Cursor = page.Cursor.Next; q.Cursor == "" || len(page.Data) < pageSize {
				return
			}
		}
	}
}

func newMessage(m session.Message) Message {
	head := m.Meta()
	out := Message{ID: string(head.ID), Role: RoleOther, Created: time.UnixMilli(head.Time.Created)}
	switch m := m.(type) {
	case *session.User:
		out.Role, out.Text, out.Files = RoleUser, m.Text, newFiles(m.Files)
		out.Agent, out.Model = m.Agent, formatModel(m.Model)
	case *session.Synthetic:
		out.Role, out.Text = RoleUser, m.Text
	case *session.System:
		out.Role, out.Text = RoleSystem, m.Text
	case *session.Shell:
		out.Role, out.Text = RoleShell, m.Command
		out.Parts = []Part{{ID: m.CallID, Text: m.Output}}
	case *session.Compaction:
		out.Role, out.Text = RoleSummary, m.Summary
	case *session.Assistant:
		out.setTurn(m)
	}
	return out
}

func (m *Message) setTurn(a *session.Assistant) {
	m.Role, m.Agent, m.Model = RoleAssistant, a.Agent, formatModel(&a.Model)
	m.Finish, m.Failure = a.Finish, newFailure(a.Error)
	if a.Cost != nil {
		m.CostUSD = a.Cost.Dollars()
	}
	if a.Tokens != nil {
		m.Tokens = newTokens(*a.Tokens)
	}
	var texts []string
	for _, c := range a.Content {
		part := Part{ID: string(c.ItemID())}
		switch c := c.(type) {
		case *session.Text:
			part.Text = c.Text
			texts = append(texts, c.Text)
		case *session.Reasoning:
			part.Reasoning = c.Text
		case *session.Tool:
			part.Call = newToolCall(c)
		}
		m.Parts = append(m.Parts, part)
	}
	m.Text = strings.Join(texts, "\n\n")
}

func newToolCall(t *session.Tool) *ToolCall {
	output, files := splitContent(t.State.Content)
	return &ToolCall{
		ID: t.ID, Tool: t.Name, Input: json.RawMessage(t.State.Input), Status: CallStatus(t.State.Status),
		Title: t.State.Title, Output: output, Files: append(files, newFiles(t.State.Attachments)...),
		Error: newFailure(t.State.Error),
	}
}

// splitContent returns the text and the files of a result.
func splitContent(content []session.ToolContent) (text string, files []File) {
	var texts []string
	for _, c := range content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
			continue
		}
		files = append(files, newFile(c.URI, c.Mime, c.Name))
	}
	return strings.Join(texts, "\n"), files
}

func newFiles(files []session.File) (out []File) {
	for _, f := range files {
		out = append(out, newFile(f.URI, f.Mime, f.Name))
	}
	return out
}
