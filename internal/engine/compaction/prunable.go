package compaction

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// The limits of pruning, those of OpenCode.
const (
	protectedTokens = 40_000 // of the newest outputs, which stay
	leastTokens     = 20_000 // that pruning must free
	protectedTurns  = 2      // the newest prompts, whose outputs stay
)

// PrunedTurn are the outputs of one turn that can be hidden.
type PrunedTurn struct {
	MessageID session.MessageID
	Calls     []*session.Tool
}

// ListPrunable returns the outputs of tools that are old enough to be hidden from the model, turn by turn, newest
// first: those before the two newest prompts and beyond the newest 40,000 tokens. It returns none if that frees less
// than 20,000 tokens. Skills stay: they are instructions. size returns the tokens of a call's output.
func ListPrunable(ms []session.Message, size func(*session.Tool) int64) (turns []PrunedTurn, freed int64) {
	prompts, seen := 0, int64(0)
	for _, m := range slices.Backward(ms) {
		switch m := m.(type) {
		case *session.User:
			prompts++
		case *session.Assistant:
			if prompts < protectedTurns {
				continue
			}
			turn := PrunedTurn{MessageID: m.ID}
			// Take the outputs beyond the protected tokens.
			for _, t := range slices.Backward(m.Tools()) {
				if t.Name == "skill" || t.State.Status != session.ToolCompleted || t.Time.Pruned != 0 {
					continue
				}
				n := size(t)
				if seen += n; seen > protectedTokens {
					turn.Calls = append(turn.Calls, t)
					freed += n
				}
			}
			if len(turn.Calls) > 0 {
				turns = append(turns, turn)
			}
		}
	}
	if freed < leastTokens {
		return nil, 0
	}
	return turns, freed
}
