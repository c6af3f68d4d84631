package cli

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// view shows a run while it goes on. It gets the events of the span and the fragments between them, in order, and at
// last the result, whatever happened.
type view interface {
	event(e session.Event)
	fragment(f session.Fragment)
	note(text string) // something that the user should know
	result(r result)
}

// result is how a run came out. Its JSON form is the last line of --format json: a promise to scripts.
type result struct {
	Type      string         `json:"type"` // "result"
	IsError   bool           `json:"is_error"`
	SessionID session.ID     `json:"sessionID,omitzero"`
	Text      string         `json:"text"`
	Value     jsontext.Value `json:"structured,omitzero"` // the answer, where the prompt asked for a form
	Denials   []denial       `json:"denials"`
	Usage     session.Tokens `json:"usage"`
	Cost      session.USD    `json:"cost"`
	Turns     int            `json:"turns"`
	Model     string         `json:"model,omitzero"`
	Agent     string         `json:"agent,omitzero"`
	Finish    string         `json:"finish,omitzero"` // why the last answer ended: "stop", "length", …
	ExitCode  exitCode       `json:"exit_code"`
	Error     *resultError   `json:"error,omitzero"`
	Time      int64          `json:"timestamp"` // milliseconds
	Continue  string         `json:"-"`         // the command that continues the session; "" if it is damaged
}

// resultError says why a run did not come out well.
type resultError struct {
	Name    string         `json:"name"` // of the exit code
	Message string         `json:"message"`
	Reason  session.Reason `json:"reason,omitzero"`
	Hint    string         `json:"hint,omitzero"`
}
