package engine

import (
	"cmp"

	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// titleAgent is the agent that generates titles. A location without it takes titles from prompts.
const titleAgent = "title"

// titleModel returns the model that generates the session's title. It is nil if the session has a name or is another
// session's child, or if the location has no model or agent for titles.
func (d *drain) titleModel(input *turnInput) *scope.Model {
	if !input.session.IsUntitled() {
		return nil
	}
	m, err := input.scope.ResolveSmallModel(titleAgent, input.session.Model, input.agent)
	if err != nil { // of the session's own model the turn fails
		d.engine.logger.Debug("no model for titles", "session", d.id, "error", err)
	}
	return m
}

// startTitle generates the session's title concurrently with the turn, unless that is under way. Nothing waits for it.
// It starts before the turn's request, so that the title is mostly there when the answer comes, and after the boundary,
// because a blocked context sends nothing.
func (d *drain) startTitle(input *turnInput, m *scope.Model, first *session.User) {
	prompt := *first
	prompt.Text, prompt.Subtasks = cmp.Or(prompt.Text, session.JoinSubtasks(prompt.Subtasks)), nil
	d.engine.titles.Start(compaction.TitleRequest{
		SessionID: d.id, Model: m, Prompt: &prompt, System: input.scope.Agents[titleAgent].System,
		Excluded: input.session.Excluded,
	})
}

// titleFromPrompts names an unnamed session after the first of the prompts with text.
func titleFromPrompts(tx store.Tx, id session.ID, ins []*session.Input) ([]eventlog.Draft, error) {
	if len(ins) == 0 {
		return nil, nil
	}
	s, err := store.FindSession(tx, id)
	if err != nil || !s.IsUntitled() {
		return nil, err
	}
	for _, in := range ins {
		if text := compaction.TitleFromText(cmp.Or(in.Prompt.Text, session.JoinSubtasks(in.Prompt.Subtasks))); text != "" {
			return eventlog.NewDrafts(&session.Renamed{Title: text, By: "auto"}), nil
		}
	}
	return nil, nil
}
