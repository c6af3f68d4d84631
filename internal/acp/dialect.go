package acp

import (
	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// dialect writes results and updates in the form of one version of the protocol.
type dialect interface {
	initialize(o Options) any
	session(id session.ID, s sessionChoices) any            // result of session/new and session/fork
	choices(s sessionChoices) any                           // result of session/load and session/resume
	options(s sessionChoices) any                           // result of session/set_config_option
	update(id session.ID, u update, s sessionChoices) []any // parameters of session/update
	permission(id session.ID, title string, call callUpdate, options []permissionOption) any
	// answersAtOnce: the result of session/prompt says that the prompt was taken, and updates when its work is done.
	answersAtOnce() bool
}

// clientFeatures are what a client can do.
type clientFeatures struct {
	form     bool // elicitation with a form
	terminal bool // logging in in a terminal
	notices  bool // texts for people
	readFile bool // reading of files with changes that are not saved
}

// permissionOption is an answer to a request for a permission.
type permissionOption struct {
	id, name, kind string
}

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

// quote returns a text as a JSON string.
func quote(text string) jsontext.Value {
	raw, err := encode(text)
	if err != nil {
		return jsontext.Value(`""`)
	}
	return raw
}
