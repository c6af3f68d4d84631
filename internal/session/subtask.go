package session

import (
	"cmp"
	"slices"
	"strings"
)

// ListUnstarted returns the subtasks of the newest prompts that no turn has begun, in order.
func ListUnstarted(history []Message) (out []Subtask) {
	for _, m := range history {
		switch m := m.(type) {
		case *User:
			out = append(out, m.Subtasks...)
		case *Assistant:
			begun := len(out)
			if m.Subtasks && m.Error == nil {
				begun = min(begun, len(m.Content))
			}
			out = out[begun:]
		}
	}
	return slices.Clip(out)
}

// HasSameTurn reports whether the subtasks can be done in one turn, which has one agent and one model.
func (t Subtask) HasSameTurn(other Subtask) bool {
	if t.Model == nil || other.Model == nil {
		return t.Agent == other.Agent && t.Model == other.Model
	}
	return t.Agent == other.Agent && *t.Model == *other.Model
}

// DisplayText returns what a person reads of the prompt: its text, and one line for each subtask.
func (u *User) DisplayText() string {
	lines := []string{u.Text}
	if u.Text == "" {
		lines = nil
	}
	for _, t := range u.Subtasks {
		about := cmp.Or(t.Description, t.Prompt)
		if t.Command != "" {
			about = "/" + t.Command
		}
		lines = append(lines, "@"+t.Agent+" "+about)
	}
	return strings.Join(lines, "\n")
}

// IsSubtaskCommand reports whether the prompt is a command for subagents. The model answers another message, with the
// report on them.
func (u *User) IsSubtaskCommand() bool {
	return slices.ContainsFunc(u.Subtasks, func(t Subtask) bool { return t.Command != "" })
}
