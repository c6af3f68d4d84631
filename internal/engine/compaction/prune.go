package compaction

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

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
