package compaction

import (
	"context"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
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

// HideOutputs hides old outputs of tools from the model, and reports whether it hid some. Each is stored in a file
// that the model can read; without such a file the output stays visible.
func (k *Shrinker) HideOutputs(ctx context.Context, q *FitRequest) (pruned bool, err error) {
	turns, _ := q.ListPrunable()
	var drafts []eventlog.Draft
	for _, turn := range turns {
		fact := &session.OutputsPruned{TurnFact: session.OfTurn(turn.MessageID)}
		for _, call := range turn.Calls {
			path, ok := k.saveOutput(q, call)
			if !ok {
				continue
			}
			fact.PartIDs, fact.Paths = append(fact.PartIDs, call.PartID), append(fact.Paths, path)
		}
		if len(fact.PartIDs) > 0 {
			drafts = append(drafts, eventlog.Draft{Data: fact})
		}
	}
	if len(drafts) == 0 {
		return false, nil
	}
	_, err = k.Journal.AppendDrafts(ctx, q.Session.ID, store.Durable, drafts...)
	return err == nil, err
}

// saveOutput returns the file with the output of the call, "" if its result names one already.
func (k *Shrinker) saveOutput(q *FitRequest, call *session.Tool) (path string, ok bool) {
	if len(call.State.OutputPaths) > 0 {
		return "", true
	}
	if q.Scope.SaveOutput == nil {
		return "", false
	}
	path, err := q.Scope.SaveOutput(q.Session.ID, history.OutputText(call))
	if err != nil {
		k.Journal.Logger.Warn("an old output could not be stored, so it stays in the conversation",
			"session", q.Session.ID, "error", err)
		return "", false
	}
	return path, strings.TrimSpace(path) != ""
}
