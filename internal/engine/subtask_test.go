package engine

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// subtaskOf reads a subtask of a scenario: AGENT:PROMPT[:COMMAND[:MODEL]].
func subtaskOf(s string) session.Subtask {
	f := append(strings.Split(s, ":"), "", "")
	t := session.Subtask{Agent: f[0], Prompt: f[1], Description: "do " + f[1], Command: f[2]}
	if f[3] != "" {
		t.Model = modelRef(f[3])
	}
	return t
}
