package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSONLines shows a run to a program: one JSON object per line. The types step_start, text, reasoning, tool_use,
// step_finish and error have the fields of OpenCode's `run --format json`. Lines of the type warning are cairn's, in the
// form of errors, and so is the last line, which is always the result.
type JSONLines struct {
	out      *terminal.Stream
	err      *terminal.Stream
	thinking bool
	calls    map[session.PartID]toolCall
	begun    map[session.PartID]int64 // when text and reasoning began, milliseconds
	provider string
	pending  *jsonLine // an error, unless another attempt follows
}

type toolCall struct {
	tool  string
	input jsontext.Value
	at    int64
}

// stepPart returns the id of a part that has no item: the start or end of a step.
func stepPart(m session.MessageID, kind string) session.PartID {
	return session.PartID(
		string(session.PrefixPart) + strings.TrimPrefix(string(m), string(session.PrefixMessage)) + kind,
	)
}

func NewJSONLines(a *cli.Invocation, thinking bool) *JSONLines {
	return &JSONLines{
		out: a.Out, err: a.Err, thinking: thinking,
		calls: map[session.PartID]toolCall{}, begun: map[session.PartID]int64{},
	}
}

// PrintUsageError prints the result of a run whose command line was not understood.
func PrintUsageError(a *cli.Invocation, err error) {
	NewJSONLines(a, false).ShowResult(Result{
		IsError: true, Denials: []follow.Denial{}, ExitCode: cli.ExitUsage, Time: time.Now().UnixMilli(),
		Error: &ResultError{Name: cli.ExitUsage.String(), Message: err.Error()},
	})
}

// jsonLine is one line. Part, Error and Warning are exclusive.
type jsonLine struct {
	Type      string     `json:"type"`
	Timestamp int64      `json:"timestamp"`
	SessionID session.ID `json:"sessionID,omitzero"` // none of an error before there was a session
	Part      *jsonPart  `json:"part,omitzero"`
	Error     *jsonError `json:"error,omitzero"`
	Warning   *jsonError `json:"warning,omitzero"`
}

// jsonPart is a part of OpenCode's V1 model, as far as these lines show them.
type jsonPart struct {
	ID        session.PartID    `json:"id"`
	SessionID session.ID        `json:"sessionID"`
	MessageID session.MessageID `json:"messageID"`
	Type      string            `json:"type"`
	Snapshot  string            `json:"snapshot,omitzero"`
	Reason    string            `json:"reason,omitzero"`
	Cost      *session.USD      `json:"cost,omitzero"`
	Tokens    *session.Tokens   `json:"tokens,omitzero"`
	Text      *string           `json:"text,omitzero"`
	Metadata  jsontext.Value    `json:"metadata,omitzero"`
	Time      *jsonTime         `json:"time,omitzero"`
	CallID    string            `json:"callID,omitzero"`
	Tool      string            `json:"tool,omitzero"`
	State     *jsonState        `json:"state,omitzero"`
}

type jsonTime struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// jsonState is the state of a settled call.
type jsonState struct {
	Status      string         `json:"status"`
	Input       jsontext.Value `json:"input"`
	Output      *string        `json:"output,omitzero"`
	Title       *string        `json:"title,omitzero"`
	Error       *string        `json:"error,omitzero"`
	Metadata    jsontext.Value `json:"metadata,omitzero"`
	Time        jsonTime       `json:"time"`
	Attachments []jsonFile     `json:"attachments,omitzero"`
}

type jsonFile struct {
	ID        session.PartID    `json:"id"`
	SessionID session.ID        `json:"sessionID"`
	MessageID session.MessageID `json:"messageID"`
	Type      string            `json:"type"` // "file"
	Mime      string            `json:"mime"`
	Filename  string            `json:"filename,omitzero"`
	URL       string            `json:"url"`
}

type jsonError struct {
	Name string        `json:"name"`
	Data jsonErrorData `json:"data"`
}

type jsonErrorData struct {
	Message     string `json:"message"`
	ProviderID  string `json:"providerID,omitzero"`
	IsRetryable *bool  `json:"isRetryable,omitzero"`
}

func (w *JSONLines) ShowFragment(session.Fragment) {}

// ShowNote goes to standard error: to people who watch, and into logs.
func (w *JSONLines) ShowNote(text string) { w.err.Printf("! %s\n", terminal.FirstLine(text, 600)) }

// ShowWarning writes a line, and tells people who watch.
func (w *JSONLines) ShowWarning(n Warning) {
	w.ShowNote(n.Message)
	w.writeLine(jsonLine{
		Type: "warning", Timestamp: n.Time, SessionID: n.SessionID,
		Warning: &jsonError{n.Name, jsonErrorData{Message: n.Message}},
	})
}

// ShowResult writes the error, if nothing made up for it, and the last line.
func (w *JSONLines) ShowResult(r Result) {
	if w.pending == nil && r.Error != nil && r.ExitCode != cli.ExitDenied {
		w.pending = &jsonLine{
			Type: "error", Timestamp: r.Time, SessionID: r.SessionID,
			Error: &jsonError{"UnknownError", jsonErrorData{Message: r.Error.Message}},
		}
	}
	if w.pending != nil {
		w.writeLine(w.pending)
	}
	r.Type = "result"
	w.writeLine(r)
}

func (w *JSONLines) writeLine(value any) {
	b, err := json.Marshal(
		value,
		json.Deterministic(true),
		json.FormatNilSliceAsNull(false),
		jsontext.AllowInvalidUTF8(true),
	)
	if err != nil {
		w.err.Printf("cairn: a line cannot be encoded: %v\n", err)
		return
	}
	_, _ = w.out.JSON().Write(append(b, '\n')) // kept in w.out.err
}

func (w *JSONLines) writePart(kind string, e session.Event, p jsonPart) {
	p.SessionID = e.SessionID
	w.writeLine(jsonLine{Type: kind, Timestamp: e.Data.Stamp().Timestamp, SessionID: e.SessionID, Part: &p})
}

// ShowEvent writes the lines of an event. OpenCode's programs read these lines, so their order and fields are its own:
// a text is written when it is complete, a call when it is settled.
func (w *JSONLines) ShowEvent(e session.Event) {
	if text := describe.DescribeEvent(e.Data); text != "" {
		w.ShowNote(text)
	}
	// Starts are remembered, because the line of the end has the time of both.
	switch d := e.Data.(type) {
	case *session.StepStarted:
		w.provider, w.pending = d.Model.ProviderID, nil
		if changed := d.Prefix.UnexpectedChange(); changed != "" {
			w.ShowNote(describe.CacheNote(changed))
		}
		w.writePart("step_start", e, jsonPart{
			ID: stepPart(d.AssistantMessageID, "-start"), MessageID: d.AssistantMessageID, Type: "step-start",
			Snapshot: d.Snapshot,
		})
	case *session.TextStarted:
		w.begun[d.PartID] = d.Timestamp
	case *session.ReasoningStarted:
		w.begun[d.PartID] = d.Timestamp
	case *session.TextEnded:
		w.writeBlock("text", e, jsonPart{
			ID: d.PartID, MessageID: d.AssistantMessageID, Text: &d.Text,
			Metadata: d.ProviderMetadata,
		})
	case *session.ReasoningEnded:
		if w.thinking {
			w.writeBlock("reasoning", e, jsonPart{
				ID: d.PartID, MessageID: d.AssistantMessageID, Text: &d.Text,
				Metadata: d.ProviderMetadata,
			})
		}
	case *session.ToolCalled:
		w.calls[d.PartID] = toolCall{d.Tool, d.Input, d.Timestamp}
	case *session.ToolSuccess:
		w.writeSuccess(e, d)
	case *session.ToolFailed:
		w.writeCall(e, jsonPart{ID: d.PartID, MessageID: d.AssistantMessageID, CallID: d.CallID},
			jsonState{Status: "error", Error: &d.Error.Message})
	// The end of a step. Providers without a total get the sum.
	case *session.StepEnded:
		tokens := d.Tokens
		if tokens.Total == 0 {
			tokens.Total = tokens.Sum()
		}
		w.writePart("step_finish", e, jsonPart{
			ID: stepPart(d.AssistantMessageID, "-finish"), MessageID: d.AssistantMessageID, Type: "step-finish",
			Reason: d.Finish, Snapshot: d.Snapshot, Cost: &d.Cost, Tokens: &tokens,
		})
	case *session.Retried:
		w.ShowNote(describe.DescribeRetry(d))
	// An error is held back: a retry may follow.
	case *session.StepFailed:
		w.holdError(e, d.Error)
	case *session.Interrupted:
		w.holdError(e, d.Error)
	}
}

func (w *JSONLines) writeBlock(kind string, e session.Event, p jsonPart) {
	p.Type, p.Time = kind, &jsonTime{Start: w.begun[p.ID], End: e.Data.Stamp().Timestamp}
	delete(w.begun, p.ID)
	w.writePart(kind, e, p)
}

func (w *JSONLines) writeSuccess(e session.Event, d *session.ToolSuccess) {
	var texts []string
	var files []jsonFile
	attach := func(uri, mime, name string) {
		id := session.PartID(fmt.Sprintf("%s-%d", d.PartID, len(files)))
		files = append(files, jsonFile{id, e.SessionID, d.AssistantMessageID, "file", mime, name, uri})
	}
	for _, c := range d.Content {
		if c.Type == "file" {
			attach(c.URI, c.Mime, c.Name)
			continue
		}
		texts = append(texts, c.Text)
	}
	for _, f := range d.Attachments {
		attach(f.URI, f.Mime, f.Name)
	}
	output, title := strings.Join(texts, "\n"), d.Title
	meta := d.Structured
	if len(meta) == 0 {
		meta = jsontext.Value(`{}`)
	}
	w.writeCall(e, jsonPart{ID: d.PartID, MessageID: d.AssistantMessageID, CallID: d.CallID},
		jsonState{Status: "completed", Output: &output, Title: &title, Metadata: meta, Attachments: files})
}

func (w *JSONLines) writeCall(e session.Event, p jsonPart, s jsonState) {
	c := w.calls[p.ID]
	delete(w.calls, p.ID)
	s.Input, s.Time = c.input, jsonTime{Start: c.at, End: e.Data.Stamp().Timestamp}
	if len(s.Input) == 0 {
		s.Input = jsontext.Value(`{}`)
	}
	p.Type, p.Tool, p.State = "tool", c.tool, &s
	w.writePart("tool_use", e, p)
}

// holdError keeps an error, under OpenCode's name, until it is known that no further attempt follows.
func (w *JSONLines) holdError(e session.Event, f session.Failure) {
	data := jsonErrorData{Message: f.Message}
	name := "UnknownError"
	switch f.Reason {
	case session.ReasonAborted, session.ReasonInterrupted:
		name = "MessageAbortedError"
	case session.ReasonAuth:
		name, data.ProviderID = "ProviderAuthError", w.provider
	case session.ReasonAPI, session.ReasonQuota:
		name, data.IsRetryable = "APIError", new(false)
	case session.ReasonOverflow:
		name = "ContextOverflowError"
	case session.ReasonContentFilter:
		name = "ContentFilterError"
	case session.ReasonLength:
		name = "MessageOutputLengthError"
	}
	w.pending = &jsonLine{
		Type:      "error",
		Timestamp: e.Data.Stamp().Timestamp,
		SessionID: e.SessionID,
		Error:     &jsonError{name, data},
	}
}
