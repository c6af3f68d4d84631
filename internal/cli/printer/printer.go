// Package printer prints a session at work: as text for people, as JSON lines for programs, and as the lines of
// OpenCode's `run --format json`.
package printer

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json/jsontext"
)

// Printer prints a run. It gets the events of the prompt and the fragments between them in order, and finally the
// result.
type Printer interface {
	ShowEvent(e session.Event)
	ShowFragment(f session.Fragment)
	ShowNote(text string)  // something that the user should know
	ShowWarning(w Warning) // a note that programs get too
	ShowResult(r Result)
}

// Warning is something about a run that its user should know, also if the user is a program.
type Warning struct {
	Name      string // for programs
	Message   string
	SessionID session.ID
	Time      int64 // milliseconds
}

// WarnServerMissing is the name of the warning that the newest turn had no tools of an enabled MCP server.
const WarnServerMissing = "McpServerMissing"

// Result is the outcome of a run. Its JSON form is the last line of --format json: a promise to scripts.
type Result struct {
	Type      string          `json:"type"` // "result"
	IsError   bool            `json:"is_error"`
	SessionID session.ID      `json:"sessionID,omitzero"`
	Text      string          `json:"text"`
	Value     jsontext.Value  `json:"structured,omitzero"` // the answer, where the prompt asked for a form
	Denials   []follow.Denial `json:"denials"`
	Usage     session.Tokens  `json:"usage"`
	Cost      session.USD     `json:"cost"`
	Turns     int             `json:"turns"`
	Model     string          `json:"model,omitzero"`
	Agent     string          `json:"agent,omitzero"`
	// Sandbox is the least strict sandbox of the session's commands; "" if it has none stored.
	Sandbox  session.SandboxMode `json:"sandbox,omitzero"`
	Finish   string              `json:"finish,omitzero"` // why the last answer ended: "stop", "length", …
	ExitCode cli.ExitCode        `json:"exit_code"`
	Error    *ResultError        `json:"error,omitzero"`
	Time     int64               `json:"timestamp"`            // milliseconds
	Fill     float64             `json:"window_fill,omitzero"` // of the model's window by the next request, in percent
	Continue string              `json:"-"`                    // the command that continues the session; "" if it is damaged
}

// ResultError says why a run failed.
type ResultError struct {
	Name    string         `json:"name"` // of the exit code
	Message string         `json:"message"`
	Reason  session.Reason `json:"reason,omitzero"`
	Hint    string         `json:"hint,omitzero"`
}
