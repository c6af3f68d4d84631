package acp

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// itemTracker turns what happens in a session into updates. A text arrives in pieces while the model writes it, and as a
// whole when it is complete: of that only the rest is sent. It is of one goroutine.
type itemTracker struct {
	directory string
	model     session.ModelRef          // of the newest turn
	sent      map[session.PartID]int    // bytes of open texts that were sent
	calls     map[session.PartID]string // the tools of open calls
}

func newItemTracker(directory string) *itemTracker {
	return &itemTracker{directory: directory, sent: map[session.PartID]int{}, calls: map[session.PartID]string{}}
}

// applyFragment returns what a piece of a text adds. A gap is left for the whole text.
func (t *itemTracker) applyFragment(f session.Fragment) []update {
	from := t.sent[f.PartID] - f.Offset
	if from < 0 || from >= len(f.Delta) {
		return nil
	}
	text := f.Delta[from:]
	switch f.Item {
	case session.FragmentText:
		t.sent[f.PartID] += len(text)
		return []update{agentText{string(f.MessageID), text}}
	case session.FragmentReasoning:
		t.sent[f.PartID] += len(text)
		return []update{thought{string(f.MessageID), text}}
	}
	return nil
}

// rest returns what was not sent of a complete text.
func (t *itemTracker) rest(id session.PartID, text string) string {
	sent := t.sent[id]
	delete(t.sent, id)
	if sent >= len(text) {
		return ""
	}
	return text[sent:]
}

// applyOutput returns the output so far of a call of this session.
func (t *itemTracker) applyOutput(p session.ToolProgress) []update {
	if t.calls[p.PartID] == "" { // of a subagent
		return nil
	}
	var result struct {
		Output string `json:"output"` // so far, of a command
	}
	_ = json.Unmarshal(p.Structured, &result, jsontext.AllowInvalidUTF8(true)) // other tools have other members
	content := newContent(p.Content)
	if result.Output != "" {
		content = newContent(session.TextContent(result.Output))
	}
	if len(content) == 0 {
		return nil
	}
	return []update{callUpdate{id: string(p.PartID), content: content}}
}

// applyEvent returns what an event changes of what a client shows.
func (t *itemTracker) applyEvent(data session.EventData) []update {
	switch d := data.(type) {
	case *session.Prompted:
		return []update{newUserText(string(d.MessageID), d.Prompt.Text, d.Prompt.Files)}
	case *session.TextEnded:
		if d.Replaced != nil && t.sent[d.PartID] > 0 { // an extension has written another text
			delete(t.sent, d.PartID)
			return []update{agentText{string(d.AssistantMessageID), "\n\n" + d.Text}}
		}
		if text := t.rest(d.PartID, d.Text); text != "" {
			return []update{agentText{string(d.AssistantMessageID), text}}
		}
	case *session.ReasoningEnded:
		if text := t.rest(d.PartID, d.Text); text != "" {
			return []update{thought{string(d.AssistantMessageID), text}}
		}
	case *session.ToolInputStarted:
		t.calls[d.PartID] = d.Name
		return []update{callUpdate{isNew: true, id: string(d.PartID), tool: d.Name, title: d.Name, kind: kindOf(d.Name), status: statusPending}}
	case *session.ToolCalled:
		u := newCall(t.directory, string(d.PartID), d.Tool, d.Input)
		u.isNew = t.calls[d.PartID] == ""
		t.calls[d.PartID] = d.Tool
		return []update{u}
	case *session.ToolSuccess:
		tool := t.calls[d.PartID]
		delete(t.calls, d.PartID)
		return []update{settledCall(string(d.PartID), tool, settlement{d.Title, d.Content, d.Structured})}
	case *session.ToolFailed:
		delete(t.calls, d.PartID)
		return []update{failedCall(string(d.PartID), d.Error)}
	case *session.StepEnded, *session.StepFailed:
		clear(t.sent) // of texts that were cut off
	case *session.ShellStarted:
		u := newCall(t.directory, d.CallID, "bash", quoteCommand(d.Command))
		u.isNew = true
		return []update{u}
	case *session.ShellEnded:
		return []update{callUpdate{id: d.CallID, status: statusCompleted, content: newContent(session.TextContent(d.Output))}}
	case *session.TodosSet:
		return []update{plan{d.Todos}}
	case *session.AgentSwitched:
		return []update{agentChanged{d.Agent}}
	case *session.ModelSwitched:
		return []update{modelChanged{}}
	case *session.Renamed:
		if d.Title != "" {
			return []update{titleChanged{d.Title}}
		}
	case *session.Retried:
		return []update{notice{"the provider is asked again", d.Error.Message}}
	case *session.CompactionEnded:
		return []update{notice{title: summaryTitle}}
	case *session.CompactionFailed:
		return []update{notice{"the conversation could not be summarised", d.Error.Message}}
	}
	return nil
}

// summaryTitle is what a client shows of a compaction. The summary is for the model: a person has the conversation.
const summaryTitle = "the model sees a summary of the conversation from here on"

// applyMessage returns a message of the transcript.
func (t *itemTracker) applyMessage(m session.Message) (out []update) {
	switch m := m.(type) {
	case *session.User:
		return []update{newUserText(string(m.ID), m.Text, m.Files)}
	case *session.Shell:
		u := newCall(t.directory, m.CallID, "bash", quoteCommand(m.Command))
		u.isNew, u.status, u.content = true, statusCompleted, newContent(session.TextContent(m.Output))
		return []update{u}
	case *session.Compaction:
		return []update{notice{title: summaryTitle}}
	case *session.Assistant:
		for _, c := range m.Content {
			out = append(out, t.applyItem(string(m.ID), c)...)
		}
		if m.Error != nil && m.Error.Reason != session.ReasonAborted {
			out = append(out, agentText{string(m.ID), "\n" + m.Error.Message})
		}
	}
	return out
}

// applyItem returns an item of a turn of the transcript, with the outcome of a call.
func (t *itemTracker) applyItem(message string, c session.Content) []update {
	switch c := c.(type) {
	case *session.Text:
		if c.Text != "" {
			return []update{agentText{message, c.Text}}
		}
	case *session.Reasoning:
		if c.Text != "" {
			return []update{thought{message, c.Text}}
		}
	case *session.Tool:
		id := string(c.PartID)
		u := newCall(t.directory, id, c.Name, c.State.Input)
		u.isNew = true
		if !c.State.Status.IsSettled() {
			t.calls[c.PartID] = c.Name
			return []update{u}
		}
		end := settledCall(id, c.Name, settlement{c.State.Title, c.State.Content, c.State.Structured})
		if c.State.Error != nil {
			end = failedCall(id, *c.State.Error)
		}
		return []update{u, end}
	}
	return nil
}

func quoteCommand(line string) []byte {
	raw, err := encode(map[string]string{"command": line})
	if err != nil {
		return nil
	}
	return raw
}

// newUserText returns a prompt with its files.
func newUserText(id, text string, files []session.File) userText {
	u := userText{messageID: id}
	if text != "" {
		u.content = append(u.content, block{text: text})
	}
	for _, f := range files {
		data, ok := parseData(f.URI)
		switch {
		case ok && strings.HasPrefix(f.Mime, "image/"):
			u.content = append(u.content, block{mediaType: f.Mime, data: data, name: f.Name})
		case ok || strings.HasPrefix(f.URI, "data:"):
			u.content = append(u.content, block{uri: "attachment:" + f.Name, name: f.Name, mediaType: f.Mime})
		default:
			u.content = append(u.content, block{uri: f.URI, name: f.Name, mediaType: f.Mime})
		}
	}
	return u
}
