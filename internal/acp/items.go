package acp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// itemTracker turns what happens in a session into updates. A text arrives in pieces while the model writes it, and as
// a whole when it is complete: of that only the rest is sent. Only the loop of the session uses it.
type itemTracker struct {
	directory string
	model     session.ModelRef          // of the newest turn
	sent      map[session.PartID]int    // bytes of open texts that were sent
	calls     map[session.PartID]string // the tools of open calls
	// items and messages of the transcript that was sent, by their ids, while events may come that it includes; false
	// for a command that was not over
	replayed map[string]bool
}

func newItemTracker(directory string) *itemTracker {
	return &itemTracker{
		directory: directory, sent: map[session.PartID]int{}, calls: map[session.PartID]string{}, replayed: map[string]bool{},
	}
}

// applyFragment returns what a piece of a text adds. A gap is left for the whole text.
func (t *itemTracker) applyFragment(f session.Fragment) []update {
	from := t.sent[f.PartID] - f.Offset
	if t.replayed[string(f.PartID)] || from < 0 || from >= len(f.Delta) {
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
	if t.calls[p.PartID] == "" { // it has ended
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
	if t.isReplayed(data) {
		return nil
	}
	// Prompts and texts first, then calls, then settings, then notices.
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
		return []update{callUpdate{
			isNew: true, id: string(d.PartID), tool: d.Name, title: d.Name, kind: findKind(d.Name), status: statusPending,
		}}
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
		return []update{endShell(d.CallID, d.Output)}
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
	case *session.RevertStaged:
		if !d.Revert.FilesOnly {
			return []update{notice{"messages were undone or brought back by another client", changedText}}
		}
	case *session.RevertCleared:
		if !d.Replaced { // else another undo follows at once
			return []update{notice{"an undo was taken back by another client", changedText}}
		}
	case *session.Moved:
		return []update{notice{"the session works in " + d.Location.Directory + " now", "Open it there."}}
	case *session.MessageRemoved, *session.MessageEdited, *session.PartRemoved, *session.PartEdited:
		return []update{notice{"the conversation was changed by another client", changedText}}
	}
	return nil
}

// changedText is what a person can do about messages that the protocol cannot take back.
const changedText = "The model sees the conversation as it is now. Load the session again to see it, too."

// summaryTitle is what a client shows of a compaction. The summary is for the model: a person has the conversation.
const summaryTitle = "the model sees a summary of the conversation from here on"

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
		u.content = append(u.content, newFileBlock(f.URI, f.Mime, f.Name))
	}
	return u
}
