package record

import (
	"context"
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Call is one complete tool call of an answer.
type Call struct {
	PartID  session.PartID
	ID      string // the provider's
	Name    string
	Input   jsontext.Value // an object
	Invalid string         // the problem with the arguments, "" if there is none
	Cut     bool           // the answer reached its limit of output tokens within the arguments

	meta    jsontext.Value
	hosted  bool // the provider runs it
	settled bool // a hosted call has its result
}

func (c *Call) calledEvent(m session.MessageID) *session.ToolCalled {
	return &session.ToolCalled{
		TurnFact: session.OfTurn(m), CallID: c.ID, PartID: c.PartID, Tool: c.Name, Input: c.Input,
		Provider: session.CallProvider{Executed: c.hosted, Metadata: c.meta},
	}
}

// SettledEvent returns the event that settles the local call.
func (r *Recorder) SettledEvent(c *Call, s tool.Settlement) session.EventData {
	if s.Error != nil {
		return &session.ToolFailed{TurnFact: session.OfTurn(r.message), CallID: c.ID, PartID: c.PartID, Error: *s.Error}
	}
	o := s.Output
	structured := o.Structured
	if len(structured) == 0 {
		structured = jsontext.Value(`{}`)
	}
	return &session.ToolSuccess{
		TurnFact: session.OfTurn(r.message), CallID: c.ID, PartID: c.PartID, Structured: structured, Content: o.Content,
		OutputPaths: o.OutputPaths, Title: o.Title, Attachments: o.Attachments,
	}
}

// recordCall records a complete call. A local call waits for the end of the stream, because a broken answer may not
// have meant it: nothing of a broken answer runs.
func (r *Recorder) recordCall(ctx context.Context, ev llm.ToolCallEvent) error {
	it := r.items[itemKey(session.FragmentToolInput, ev.ID)]
	if it == nil {
		it = &item{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name}
		if err := r.startItem(ctx, it); err != nil {
			return err
		}
		if _, err := r.countBytes(string(ev.Input)); err != nil { // no deltas came
			return err
		}
	}
	if !it.done {
		if err := r.endItem(it.kind, it.id, nil); err != nil {
			return err
		}
	}
	if it.name != ev.Name {
		return violationf("the call %q changes its name from %q to %q", ev.ID, it.name, ev.Name)
	}
	if r.callByID[ev.ID] != nil {
		return violationf("the call %q comes twice", ev.ID)
	}
	c := &Call{
		PartID: it.part, ID: ev.ID, Name: ev.Name, Input: wrapInput(ev.Input), Invalid: ev.Invalid,
		meta: encodeMetadata(ev.Metadata), hosted: ev.Hosted,
	}
	if !ev.Hosted && r.config.ToolName != nil {
		c.Name = r.config.ToolName(ev.Name)
	}
	r.callByID[ev.ID] = c
	if !ev.Hosted {
		r.calls = append(r.calls, c)
		return nil
	}
	return r.Commit(ctx, store.Relaxed, eventlog.Draft{Data: c.calledEvent(r.message)})
}

// wrapInput returns the arguments as the object that is stored: any other value becomes its member "value".
func wrapInput(v jsontext.Value) jsontext.Value {
	switch {
	case len(v) == 0 || !v.IsValid():
		return jsontext.Value(`{}`)
	case v.Kind() == '{':
		return v
	default:
		return jsontext.Value(`{"value":` + string(v) + `}`)
	}
}

// recordHostedResult settles a call that the provider ran, once. The result is stored verbatim.
func (r *Recorder) recordHostedResult(ctx context.Context, ev llm.HostedResult) error {
	c := r.callByID[ev.ID]
	switch {
	case c == nil || !c.hosted:
		return violationf("a result for the call %q that it did not run", ev.ID)
	case c.settled && ev.IsError:
		return nil
	case c.settled:
		return violationf("a second result for the call %q", ev.ID)
	}
	provider := session.CallProvider{Executed: true, Metadata: encodeMetadata(ev.Metadata)}
	var d session.EventData = &session.ToolSuccess{
		TurnFact: session.OfTurn(r.message), CallID: ev.ID, PartID: c.PartID, Structured: jsontext.Value(`{}`),
		Content: hostedContent(ev.Content), Result: ev.Result, Provider: provider,
	}
	if ev.IsError {
		d = &session.ToolFailed{
			TurnFact: session.OfTurn(r.message), CallID: ev.ID, PartID: c.PartID, Result: ev.Result, Provider: provider,
			Error: *session.Fail(session.ReasonTool, "the provider's tool reported an error"),
		}
	}
	err := r.Commit(ctx, store.Relaxed, eventlog.Draft{Data: d})
	c.settled = err == nil
	return err
}

// hostedContent returns the content of a hosted result, with media as data URIs.
func hostedContent(parts []llm.Part) []session.ToolContent {
	out := []session.ToolContent{}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Media:
			uri := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			out = append(out, session.ToolContent{Type: "file", URI: uri, Mime: p.MediaType, Name: p.Name})
		case llm.Text:
			out = append(out, session.ToolContent{Type: "text", Text: p.Text})
		}
	}
	return out
}

// recordFinish notes the end of the answer. If it reached its limit of output tokens, the last call is cut where its
// arguments are invalid.
func (r *Recorder) recordFinish(ev llm.Finish) error {
	if r.answer != nil {
		return violationf("it ended twice")
	}
	if r.paused = ev.Reason == llm.FinishPaused; r.paused && r.config.NoPause {
		ev.Reason = llm.FinishStop // what was said is all of it
	}
	if n := len(r.calls); ev.Reason == llm.FinishLength && n > 0 && r.calls[n-1].Invalid != "" {
		r.calls[n-1].Cut = true
	}
	r.SetFinish(string(ev.Reason), ev.Usage)
	return nil
}

// SetFinish sets how the answer ended and what it used. A failed stream may report its usage in its error.
func (r *Recorder) SetFinish(finish string, u llm.Usage) {
	r.answer = &session.Answer{Finish: finish, Tokens: TokensOf(u), Usage: u.Raw}
	if r.config.Cost != nil {
		r.answer.Cost = r.config.Cost(u)
	}
}

// TokensOf converts a provider's inclusive counts into exclusive ones: input without cache, output without reasoning.
func TokensOf(u llm.Usage) session.Tokens {
	return session.Tokens{
		Input:  max(0, u.Input-u.CacheRead-u.CacheWrite),
		Output: max(0, u.Output-u.Reasoning), Reasoning: max(0, u.Reasoning),
		Cache: session.CacheUsage{Read: max(0, u.CacheRead), Write: max(0, u.CacheWrite)}, Total: max(0, u.Total),
	}
}
