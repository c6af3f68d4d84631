package opencode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// importPart adds a part of a step. Members without an equivalent are kept with the message (importedForm).
func importPart(a *session.Assistant, raw jsontext.Value) error {
	head := Head{}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	// The first step of a turn gives its ids; text, reasoning and calls are its content.
	switch head.Type {
	case "step-start":
		var p StepStartPart
		if err := json.Unmarshal(raw, &p); err != nil || a.StartID != "" {
			return err
		}
		if a.StartID = p.ID; p.Snapshot != "" {
			a.Snapshot = &session.StepSnapshot{Start: p.Snapshot}
		}
	case "step-finish":
		var p StepFinishPart
		if err := json.Unmarshal(raw, &p); err != nil || a.EndID != "" {
			return err
		}
		a.EndID = p.ID
		if p.Snapshot != "" {
			if a.Snapshot == nil {
				a.Snapshot = &session.StepSnapshot{}
			}
			a.Snapshot.End = p.Snapshot
		}
	case "text":
		var p TextPart
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		if !p.Ignored {
			a.Content = append(a.Content, &session.Text{
				Type: "text", ID: string(p.ID), PartID: p.ID, Text: p.Text, Time: itemTime(p.Time),
				Metadata: objectOr(p.Metadata, nil),
			})
		}
	case "reasoning":
		var p ReasoningPart
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		a.Content = append(a.Content, &session.Reasoning{
			Type: "reasoning", ID: string(p.ID), PartID: p.ID, Text: p.Text, Time: itemTime(&p.Time),
			Metadata: objectOr(p.Metadata, nil),
		})
	case "tool":
		t, err := importTool(raw)
		if err != nil {
			return err
		}
		a.Content = append(a.Content, t)
	}
	return nil
}

func itemTime(t *Time) *session.ItemTime {
	if t == nil {
		return nil
	}
	return &session.ItemTime{Created: t.Start, Completed: t.End}
}

// toolRecord is a tool part in any state of its call.
type toolRecord struct {
	Head
	CallID   string         `json:"callID"`
	Tool     string         `json:"tool"`
	Metadata jsontext.Value `json:"metadata"`
	State    struct {
		Status      string         `json:"status"`
		Input       jsontext.Value `json:"input"`
		Output      string         `json:"output"`
		Title       string         `json:"title"`
		Error       string         `json:"error"`
		Metadata    jsontext.Value `json:"metadata"`
		Time        CompletedTime  `json:"time"`
		Attachments []FilePart     `json:"attachments"`
	} `json:"state"`
}

func importTool(raw jsontext.Value) (*session.Tool, error) {
	var p toolRecord
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	s := p.State
	t := &session.Tool{
		Type: "tool", ID: p.CallID, PartID: p.ID, Name: p.Tool,
		Time: session.ToolTime{
			Created:   s.Time.Start,
			Ran:       s.Time.Start,
			Completed: max(s.Time.End, s.Time.Start, 1),
			Pruned:    s.Time.Compacted,
		},
		State: session.ToolState{
			Status: session.ToolCompleted, Input: objectOr(s.Input, emptyObject), Title: s.Title,
			Structured: objectOr(s.Metadata, emptyObject),
			Content:    []session.ToolContent{},
		},
	}
	// The vendor's data of a call that it ran itself.
	if meta := membersOfObject(p.Metadata); meta != nil {
		var executed bool
		_ = json.Unmarshal(meta["providerExecuted"], &executed) // any other value counts as false
		delete(meta, "providerExecuted")
		t.Provider = &session.ToolProvider{Executed: executed, Metadata: objectOr(objectOf(meta), nil)}
	}
	// A call that had not ended is one whose outcome is unknown.
	switch s.Status {
	case "completed":
		t.State.Content = session.TextContent(s.Output)
		for _, f := range s.Attachments {
			t.State.Content = append(
				t.State.Content,
				session.ToolContent{Type: "file", URI: f.URL, Mime: f.Mime, Name: f.Filename},
			)
		}
	case "error":
		t.State.Status, t.State.Error = session.ToolError, session.Fail(session.ReasonTool, s.Error)
	case "pending", "running":
		t.State.Status = session.ToolError
		t.State.Error = session.Fail(
			session.ReasonInterrupted,
			"it had not ended when the session was exported; its outcome is unknown",
		)
	default:
		return nil, session.Errorf(session.CodeInvalid,
			"the status of a call must be pending, running, completed or error, got %.40q", s.Status).
			At("state.status")
	}
	return t, nil
}
