package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// agentSwitch returns what lets a call switch the agent of the session, nil in the session of a task. The switch is a
// prompt that is promoted at the next boundary. Its id follows from the call's, so that a call that is run again
// admits it once.
func (t *turn) agentSwitch(part session.PartID) func(ctx context.Context, agent, text string) error {
	if t.input.session.ParentID != "" {
		return nil
	}
	return func(ctx context.Context, agent, text string) error {
		id := session.TaskPromptID(part)
		_, err := t.engine.Commands.AdmitPrompt(ctx, admit.PromptRequest{
			SessionID: t.id, ID: id, Asks: t.input.asks, Recovery: t.input.recovery, UnderWay: true,
			Prompt: session.Prompt{Agent: agent, Text: text, Parts: []session.PromptPart{{
				ID:   session.PartID(string(session.PrefixPart) + strings.TrimPrefix(string(id), string(session.PrefixMessage))),
				Type: session.PartText, Length: len(text), Extra: jsontext.Value(`{"synthetic":true}`),
			}}},
		})
		if e, ok := errors.AsType[*session.Error](err); ok {
			return tool.Failf("The agent could not be switched: %s.", e.Message)
		}
		return err
	}
}

// planFile returns the file of the session's plan, below the location's directory if it lies there.
func (t *turn) planFile() string {
	if t.input.scope.PlanPath == nil {
		return ""
	}
	path := t.input.scope.PlanPath(t.input.session)
	if rel, err := filepath.Rel(t.input.scope.Location.Directory, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
