package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionChoices are the agents, models and efforts that a session can have, and those that it has.
type sessionChoices struct {
	agents, models, efforts []choice
	agent, model, effort    string
}

// choice is a value of an option.
type choice struct{ id, name, description string }

// The ids of the options.
const (
	optionAgent  = "mode"
	optionModel  = "model"
	optionEffort = "thought_level"
)

// configOption is one option with its values.
type configOption struct {
	id, name, category, current string
	values                      []choice
}

// list returns the options that have a choice.
func (s sessionChoices) list() (out []configOption) {
	for _, o := range []configOption{
		{optionAgent, "Agent", string(v2.SessionConfigOptionCategoryMode), s.agent, s.agents},
		{optionModel, "Model", string(v2.SessionConfigOptionCategoryModel), s.model, s.models},
		{optionEffort, "Reasoning effort", string(v2.SessionConfigOptionCategoryThoughtLevel), s.effort, s.efforts},
	} {
		if len(o.values) > 0 && o.current != "" {
			out = append(out, o)
		}
	}
	return out
}

// readChoices reads the agents and models of the session's directory.
func (s *liveSession) readChoices(ctx context.Context, found *session.Session) error {
	location, err := s.client.Location(ctx)
	if err != nil {
		return err
	}
	agents, err := s.client.Agents(ctx)
	if err != nil {
		return err
	}
	models, err := s.client.Models(ctx)
	if err != nil {
		return err
	}
	// Agents, those that a person can choose.
	for _, one := range agents.Data {
		if one.IsSelectable() {
			s.choices.agents = append(s.choices.agents, choice{one.ID, one.ID, one.Description})
		}
	}
	if s.choices.agent = found.Agent; s.choices.agent == "" && len(s.choices.agents) > 0 {
		s.choices.agent = s.choices.agents[0].id
	}
	if id := s.choices.agent; !slices.ContainsFunc(s.choices.agents, func(c choice) bool { return c.id == id }) {
		s.choices.agents = append(s.choices.agents, choice{id: id, name: id}) // it has left the configuration
	}
	// Models, with the efforts of the one that is selected.
	s.offers = models.Data
	for _, m := range models.Data {
		s.windows[m.Ref()] = m.Limit.Context
		s.choices.models = append(s.choices.models, choice{m.Ref().String(), m.Name, ""})
	}
	if selected := cmp.Or(found.Model, location.Model); selected != nil {
		s.setModel(*selected)
	}
	return nil
}

// setModel notes the selected model, and the efforts that it has. The caller holds mu, or is the only one.
func (s *liveSession) setModel(ref session.ModelRef) {
	s.choices.model, s.choices.efforts = ref.String(), nil
	s.choices.effort = cmp.Or(ref.Variant, defaultEffort)
	if !slices.ContainsFunc(s.choices.models, func(c choice) bool { return c.id == s.choices.model }) {
		s.choices.models = append(s.choices.models, choice{id: s.choices.model, name: s.choices.model})
	}
	for _, m := range s.offers {
		if m.Ref().String() == s.choices.model && len(m.Variants) > 0 {
			s.choices.efforts = []choice{{id: defaultEffort, name: "Default"}}
			for _, v := range m.Variants {
				s.choices.efforts = append(s.choices.efforts, choice{id: v.ID, name: v.ID})
			}
		}
	}
}

// defaultEffort is the variant of a model without one.
const defaultEffort = "default"

func (s *liveSession) currentChoices() sessionChoices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choices
}

// choose selects the value of an option, for the next turn.
func (s *liveSession) choose(ctx context.Context, option, value string) error {
	// Check that the option has the value.
	now := s.currentChoices()
	list := now.list()
	i := slices.IndexFunc(list, func(o configOption) bool { return o.id == option })
	if i < 0 {
		return rpcErrorf(codeInvalidParams, "there is no option %q with a choice", option)
	}
	if !slices.ContainsFunc(list[i].values, func(c choice) bool { return c.id == value }) {
		return rpcErrorf(codeInvalidParams, "the option %s has no value %q", option, value)
	}
	// Switch the agent, or the model with its effort; another model has its default effort.
	if option == optionAgent {
		if err := s.client.SwitchAgent(ctx, s.id, value); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.choices.agent = value
		return nil
	}
	name, effort := now.model, value
	if option == optionModel {
		name, effort = value, ""
	}
	provider, model, _ := strings.Cut(name, "/")
	ref := session.ModelRef{ProviderID: provider, ID: model, Variant: strings.TrimPrefix(effort, defaultEffort)}
	if err := s.client.SwitchModel(ctx, s.id, ref); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setModel(ref)
	return nil
}

// setMode selects the agent, for the next turn.
func (s *liveSession) setMode(ctx context.Context, params jsontext.Value) (any, error) {
	var r v1.SetSessionModeRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	return struct{}{}, s.choose(ctx, optionAgent, r.ModeID)
}

// setOption selects the agent, the model, or its effort, for the next turn.
func (s *liveSession) setOption(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.SetSessionConfigOptionRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	var value string
	if err := decodeParams(r.Value, &value); err != nil {
		return nil, err
	}
	if err := s.choose(ctx, r.ConfigID, value); err != nil {
		return nil, err
	}
	return s.agent.currentDialect().options(s.currentChoices()), nil
}
