package acp

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// dialect writes results and updates in the form of one version of the protocol.
type dialect interface {
	methods(a *agent) map[string]method
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

// quote returns a text as a JSON string.
func quote(text string) jsontext.Value {
	raw, err := encode(text)
	if err != nil {
		return jsontext.Value(`""`)
	}
	return raw
}
