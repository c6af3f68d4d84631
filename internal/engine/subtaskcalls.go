package engine

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/session"
)

// subtaskCalls is the subtasks of a turn by their calls. It is nil in turns of a model.
type subtaskCalls map[session.PartID]session.Subtask

// findSubtasks returns the subtasks of a turn that an earlier process left open, in the order of its calls.
func findSubtasks(h *history.History, a *session.Assistant) subtaskCalls {
	out := subtaskCalls{}
	ms := h.Messages()
	at := slices.IndexFunc(ms, func(m session.Message) bool { return m.Meta().ID == a.ID })
	for i, s := range session.ListUnstarted(ms[:max(at, 0)]) {
		if tools := a.Tools(); i < len(tools) {
			out[tools[i].PartID] = s
		}
	}
	return out
}

// needsReport reports whether the newest message is the turn of a command's subtask.
func needsReport(h *history.History) bool {
	ms := h.Messages()
	if len(ms) == 0 {
		return false
	}
	a, ok := ms[len(ms)-1].(*session.Assistant)
	if !ok || !a.Subtasks || a.Error != nil {
		return false
	}
	for _, s := range findSubtasks(h, a) {
		if s.Command != "" {
			return true
		}
	}
	return false
}
