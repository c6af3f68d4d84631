package opencode

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ToolPart is a tool call with its state.
type ToolPart struct {
	Head
	CallID   string         `json:"callID"`
	Tool     string         `json:"tool"`
	State    ToolState      `json:"state"` // by pointer
	Metadata jsontext.Value `json:"metadata,omitzero"`
}

// ToolState is one of the four states of a call.
type ToolState interface{ state() }

// The states of a call.
type (
	// ToolPending is a call whose arguments are incomplete.
	ToolPending struct {
		Status string         `json:"status"`
		Input  jsontext.Value `json:"input"`
		Raw    string         `json:"raw"`
	}
	// ToolRunning is a call that runs.
	ToolRunning struct {
		Status   string         `json:"status"`
		Input    jsontext.Value `json:"input"`
		Title    string         `json:"title,omitzero"`
		Metadata jsontext.Value `json:"metadata,omitzero"`
		Time     Time           `json:"time"`
	}
	// ToolCompleted is a call that succeeded.
	ToolCompleted struct {
		Status      string         `json:"status"`
		Input       jsontext.Value `json:"input"`
		Output      string         `json:"output"`
		Title       string         `json:"title"`
		Metadata    jsontext.Value `json:"metadata"`
		Time        CompletedTime  `json:"time"`
		Attachments []*FilePart    `json:"attachments,omitempty"`
	}
	// ToolError is a call that failed or was interrupted.
	ToolError struct {
		Status   string         `json:"status"`
		Input    jsontext.Value `json:"input"`
		Error    string         `json:"error"`
		Metadata jsontext.Value `json:"metadata,omitzero"`
		Time     Time           `json:"time"`
	}
)

// CompletedTime holds the times at which a call ran, and at which its output was pruned from the model's context.
type CompletedTime struct {
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
	Compacted int64 `json:"compacted,omitzero"`
}

func (*ToolPending) state()   {}
func (*ToolRunning) state()   {}
func (*ToolCompleted) state() {}
func (*ToolError) state()     {}

func toolPart(head Head, t *session.Tool) Part {
	p := &ToolPart{Head: head, CallID: t.ID, Tool: t.Name, State: toolState(head, t)}
	if t.Provider != nil {
		p.Metadata = objectOr(t.Provider.Metadata, nil)
		if t.Provider.Executed {
			p.Metadata = memberOf(p.Metadata, "providerExecuted", true)
		}
	}
	return p
}

func toolState(head Head, t *session.Tool) ToolState {
	s, ran := t.State, t.Time.Ran
	if ran == 0 {
		ran = t.Time.Created
	}
	switch s.Status {
	case session.ToolRunning:
		r := &ToolRunning{
			Status: "running", Input: s.Input, Metadata: metadataOf(t.Name, s), Time: Time{Start: ran},
		}
		if t.Name == toolTask {
			r.nameTask(head)
		}
		return r
	case session.ToolCompleted:
		c := &ToolCompleted{
			Status: "completed", Input: s.Input, Output: outputOf(t.Name, s), Title: titleOf(t.Name, s),
			Metadata: resultOf(t.Name, s),
			Time:     CompletedTime{Start: ran, End: t.Time.Completed, Compacted: t.Time.Pruned},
		}
		// Files of the result are parts of their own, with ids derived from the call's.
		for n, f := range attachmentsOf(s) {
			h := Head{
				ID:        derivePartID(string(head.ID), n),
				SessionID: head.SessionID,
				MessageID: head.MessageID,
				Type:      "file",
			}
			c.Attachments = append(c.Attachments, &FilePart{Head: h, Mime: f.Mime, Filename: fileName(t.Name, f), URL: f.URI})
		}
		return c
	case session.ToolError:
		e := &ToolError{
			Status:   "error",
			Input:    s.Input,
			Metadata: metadataOf(t.Name, s),
			Time:     Time{Start: ran, End: t.Time.Completed},
		}
		// An interrupted call has the text that OpenCode's clients know.
		if s.Error != nil {
			e.Error = s.Error.Message
			switch {
			case s.Error.Reason != session.ReasonAborted && s.Error.Reason != session.ReasonInterrupted:
			case t.Name == toolTask:
				e.Error = "Task cancelled"
			default:
				e.Error, e.Metadata = "Tool execution aborted", memberOf(e.Metadata, "interrupted", true)
			}
		}
		return e
	default:
		return &ToolPending{Status: "pending", Input: emptyObject}
	}
}

// fileName returns the name of a result's file; "" if the call's input has it.
func fileName(tool string, f session.File) string {
	if tool == "read" || tool == "webfetch" {
		return ""
	}
	return f.Name
}

// resultOf returns a call's metadata. Every call of OpenCode's reports whether its output was truncated and where the
// rest is.
func resultOf(name string, s session.ToolState) jsontext.Value {
	v := objectOr(metadataOf(name, s), emptyObject)
	var said struct {
		Truncated *bool `json:"truncated"`
	}
	if json.Unmarshal(v, &said) == nil && said.Truncated == nil {
		v = memberOf(v, "truncated", len(s.OutputPaths) > 0)
		if len(s.OutputPaths) > 0 {
			v = memberOf(v, "outputPath", s.OutputPaths[0])
		}
	}
	return v
}

func textOf(content []session.ToolContent) string {
	var texts []string
	for _, c := range content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// attachmentsOf returns the files of a result: first those sent to the model, then the others.
func attachmentsOf(s session.ToolState) (files []session.File) {
	for _, c := range s.Content {
		if c.Type == "file" {
			files = append(files, session.File{URI: c.URI, Mime: c.Mime, Name: c.Name})
		}
	}
	return append(files, s.Attachments...)
}

// memberOf returns the object with one member added.
func memberOf(v jsontext.Value, name string, value any) jsontext.Value {
	b, err := json.Marshal(value)
	if err != nil {
		return v
	}
	m := membersOfObject(v)
	if m == nil {
		m = map[string]jsontext.Value{}
	}
	m[name] = b
	return objectOf(m)
}

// toolTask is the name of the tool that hands work to subagents.
const toolTask = "task"

// nameTask gives a running call of the tool task its title, and the session of its work: clients open that.
func (r *ToolRunning) nameTask(part Head) {
	var in struct {
		Description string     `json:"description"`
		Continue    session.ID `json:"task_id"`
	}
	if json.Unmarshal(r.Input, &in) != nil {
		return
	}
	r.Title = cmp.Or(r.Title, in.Description)
	r.Metadata = memberOf(r.Metadata, "parentSessionId", part.SessionID)
	r.Metadata = memberOf(r.Metadata, "sessionId", cmp.Or(in.Continue, session.TaskID(part.ID)))
}
