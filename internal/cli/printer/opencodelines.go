package printer

import (
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// OpenCodeLines prints a run in the lines of OpenCode's `run --format json`: the parts of the V1 contract as they
// become complete, and the error of the work. There is no result line.
type OpenCodeLines struct {
	out, err *terminal.Stream
	thinking bool
	fold     *opencode.Fold // nil before the first event
	printed  map[session.PartID]bool
	failed   bool
}

func NewOpenCodeLines(a *cli.Invocation, thinking bool) *OpenCodeLines {
	return &OpenCodeLines{out: a.Out, err: a.Err, thinking: thinking, printed: map[session.PartID]bool{}}
}

// openCodeLine is one line. Part and Error are exclusive.
type openCodeLine struct {
	Type      string     `json:"type"`
	Timestamp int64      `json:"timestamp"`
	SessionID session.ID `json:"sessionID,omitzero"`
	Part      any        `json:"part,omitzero"`
	Error     any        `json:"error,omitzero"`
}

// openCodePart holds the fields of a part that decide whether it is printed, and under which type.
type openCodePart struct {
	ID        session.PartID `json:"id"`
	Type      string         `json:"type"`
	Synthetic bool           `json:"synthetic"`
	Time      struct {
		End int64 `json:"end"`
	} `json:"time"`
	State struct {
		Status string `json:"status"`
	} `json:"state"`
}

// lineType is the type of the part's line; "" while the part is incomplete, or is not printed at all.
func (p openCodePart) lineType(thinking bool) string {
	written := p.Time.End != 0 && !p.Synthetic
	switch {
	case p.Type == "text" && written, p.Type == "reasoning" && written && thinking:
		return p.Type
	case p.Type == "tool" && (p.State.Status == "completed" || p.State.Status == "error"):
		return "tool_use"
	case p.Type == "step-start":
		return "step_start"
	case p.Type == "step-finish":
		return "step_finish"
	default:
		return ""
	}
}

func (w *OpenCodeLines) ShowFragment(session.Fragment) {}

func (w *OpenCodeLines) ShowNote(text string) { w.err.Printf("! %s\n", terminal.FirstLine(text, 600)) }

// ShowWarning goes to standard error only: OpenCode has no such line.
func (w *OpenCodeLines) ShowWarning(n Warning) { w.ShowNote(n.Message) }

func (w *OpenCodeLines) ShowEvent(e session.Event) {
	if w.fold == nil {
		w.fold = opencode.NewFold(opencode.Rows{Session: &session.Session{ID: e.SessionID}, Through: -1})
	}
	w.printEvents(e.SessionID, w.fold.ApplyEvent(&e))
}

// printEvents writes the lines of what the fold says.
func (w *OpenCodeLines) printEvents(id session.ID, events []opencode.Event) {
	for _, e := range events {
		switch p := e.Properties.(type) {
		case opencode.PartInfo:
			w.printPart(id, p.Part)
		case opencode.Failure:
			w.printError(id, p.Error)
		}
	}
}

// printPart writes a part once, when it is complete.
func (w *OpenCodeLines) printPart(id session.ID, p opencode.Part) {
	raw, err := json.Marshal(p, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		w.err.Printf("cairn: a part cannot be encoded: %v\n", err)
		return
	}
	var about openCodePart
	if json.Unmarshal(raw, &about, jsontext.AllowInvalidUTF8(true)) != nil || w.printed[about.ID] {
		return
	}
	if kind := about.lineType(w.thinking); kind != "" {
		w.printed[about.ID] = true
		w.writeLine(openCodeLine{Type: kind, SessionID: id, Part: jsontext.Value(raw)})
	}
}

func (w *OpenCodeLines) printError(id session.ID, e any) {
	w.failed = true
	w.writeLine(openCodeLine{Type: "error", SessionID: id, Error: e})
}

func (w *OpenCodeLines) writeLine(l openCodeLine) {
	l.Timestamp = time.Now().UnixMilli()
	b, err := json.Marshal(l, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		w.err.Printf("cairn: a line cannot be encoded: %v\n", err)
		return
	}
	_, _ = w.out.JSON().Write(append(b, '\n')) // kept in w.out.err
}

// ShowResult writes the error of the work. An error before there is a session goes to standard error.
func (w *OpenCodeLines) ShowResult(r Result) {
	if w.fold != nil {
		w.printEvents(r.SessionID, w.fold.ApplyStatus(opencode.State{Type: "idle"}))
	}
	switch {
	case r.Error == nil || r.ExitCode == cli.ExitDenied || w.failed:
	case r.SessionID == "":
		w.err.Printf("cairn: %s\n", r.Error.Message)
	default:
		w.printError(r.SessionID, jsonError{"UnknownError", jsonErrorData{Message: r.Error.Message}})
	}
}
