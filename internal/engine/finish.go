package engine

import (
	"context"
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// called enters a complete call. Local calls wait for the end of the stream: an answer that breaks off may not have
// meant them, so nothing of it runs (spec/guarantees G20).
func (t *turn) called(ctx context.Context, ev llm.ToolCallEvent) error {
	k := key(session.FragmentToolInput, ev.ID)
	it := t.items[k]
	if it == nil {
		it = &openItem{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name}
		if err := t.start(ctx, it); err != nil {
			return err
		}
		if _, err := t.fit(string(ev.Input)); err != nil { // they come whole
			return err
		}
		if err := t.end(it.kind, it.id, nil); err != nil {
			return err
		}
	}
	if !it.done {
		if err := t.end(it.kind, it.id, nil); err != nil {
			return err
		}
	}
	if it.name != ev.Name {
		return violation("the call %q changes its name from %q to %q", ev.ID, it.name, ev.Name)
	}
	if t.made[ev.ID] != nil {
		return violation("the call %q comes twice", ev.ID)
	}
	c := &call{
		part: it.part, id: ev.ID, name: t.meant(ev), input: object(ev.Input), invalid: ev.Invalid, meta: metadata(ev.Metadata), hosted: ev.Hosted,
	}
	if t.made == nil {
		t.made = map[string]*call{}
	}
	t.made[ev.ID] = c
	if !ev.Hosted {
		t.calls = append(t.calls, c)
		return nil
	}
	return t.commit(ctx, store.Relaxed, eventlog.Draft{Data: c.fact(t.message)})
}

// meant is the name of the tool of ours that a call means.
func (t *turn) meant(ev llm.ToolCallEvent) string {
	if t.set.final || ev.Hosted {
		return ev.Name
	}
	return t.set.tools().Meant(ev.Name)
}

// object is the input as the object that history holds: anything else is wrapped (spec/v2 PB-3).
func object(v jsontext.Value) jsontext.Value {
	switch {
	case len(v) == 0 || !v.IsValid():
		return jsontext.Value(`{}`)
	case v.Kind() == '{':
		return v
	default:
		return jsontext.Value(`{"value":` + string(v) + `}`)
	}
}

// hosted settles a call that the provider ran itself, once. Its result is kept verbatim (spec/v2 PB-4).
func (t *turn) hosted(ctx context.Context, ev llm.HostedResult) error {
	c := t.made[ev.ID]
	switch {
	case c == nil || !c.hosted:
		return violation("a result for the call %q that it did not run", ev.ID)
	case c.settled && ev.IsError:
		return nil
	case c.settled:
		return violation("a second result for the call %q", ev.ID)
	}
	provider := session.CallProvider{Executed: true, Metadata: metadata(ev.Metadata)}
	var d session.EventData = &session.ToolSuccess{
		AssistantMessageID: t.message, CallID: ev.ID, PartID: c.part, Structured: jsontext.Value(`{}`),
		Content: contents(ev.Content), Result: ev.Result, Provider: provider,
	}
	if ev.IsError {
		d = &session.ToolFailed{
			AssistantMessageID: t.message, CallID: ev.ID, PartID: c.part, Result: ev.Result, Provider: provider,
			Error: *session.Fail(session.ReasonTool, "the provider's tool reported an error"),
		}
	}
	err := t.commit(ctx, store.Relaxed, eventlog.Draft{Data: d})
	c.settled = err == nil
	return err
}

// contents keeps what media a provider's tool made as files.
func contents(parts []llm.Part) []session.ToolContent {
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

// unanswered fails the hosted calls of a well-ended answer that brought no result for them (spec/v2 T24).
func (t *turn) unanswered() []eventlog.Draft {
	var drafts []eventlog.Draft
	for _, it := range t.order {
		if c := t.made[it.id]; c != nil && c.part == it.part && c.hosted && !c.settled {
			drafts = append(drafts, eventlog.Draft{Data: &session.ToolFailed{
				AssistantMessageID: t.message, CallID: c.id, PartID: c.part, Provider: session.CallProvider{Executed: true},
				Error: *session.Fail(session.ReasonTool, "the provider ended its answer without a result of this call"),
			}})
		}
	}
	return drafts
}

func (t *turn) finish(ev llm.Finish) error {
	if t.answer != nil {
		return violation("it ended twice")
	}
	switch {
	case ev.Reason != llm.FinishPaused:
		t.unfinished = 0
	case t.set.final || t.unfinished == maxPauses:
		ev.Reason = llm.FinishStop // what it has said is all that it will
	default:
		t.unfinished++
	}
	if ev.Reason == llm.FinishLength {
		t.cutOff()
	}
	t.answered(string(ev.Reason), ev.Usage)
	return nil
}

// maxPauses is how often in a row a provider may ask to go on with its own answer (spec/v2 §27 X33).
const maxPauses = 5

// answered keeps how the answer ended and what it cost.
func (t *turn) answered(finish string, u llm.Usage) {
	t.answer = &session.Answer{Finish: finish, Tokens: tokens(u), Usage: u.Raw}
	if t.set.model.Cost != nil {
		t.answer.Cost = t.set.model.Cost(u)
	}
}

// tokens splits inclusive counts into exclusive ones (spec/v1 §31).
func tokens(u llm.Usage) session.Tokens {
	return session.Tokens{
		Input:  max(0, u.Input-u.CacheRead-u.CacheWrite),
		Output: max(0, u.Output-u.Reasoning), Reasoning: max(0, u.Reasoning),
		Cache: session.CacheUsage{Read: max(0, u.CacheRead), Write: max(0, u.CacheWrite)}, Total: max(0, u.Total),
	}
}

// complete sees a well-ended answer through: its calls become durable, run, and settle; then the turn ends. It reports
// whether the model must hear of results, or go on where it paused.
func (t *turn) complete(ctx context.Context) (more bool, err error) {
	for _, it := range t.order {
		it.done = true // what the model left open ends with its answer
	}
	drafts := t.unanswered()
	for _, c := range t.calls {
		drafts = append(drafts, eventlog.Draft{Data: c.fact(t.message)})
	}
	if len(t.calls) > 0 {
		drafts[len(drafts)-1].Private = &session.Private{Answer: t.answer}
	}
	if len(drafts) > 0 {
		if err := t.commit(ctx, store.Durable, drafts...); err != nil {
			return false, err
		}
	}
	return t.conclude(ctx)
}

// conclude settles the calls and ends the turn as its answer says.
func (t *turn) conclude(ctx context.Context) (more bool, err error) {
	end := t.settleAll(ctx)
	clean := context.WithoutCancel(ctx)
	if end.last != nil && ctx.Err() != nil {
		end.err = t.commit(clean, store.Durable, end.last...)
		end.last = nil
	}
	switch {
	case end.left: // asks outlive the process; the turn stays open for the next one
		return false, context.Cause(ctx)
	case end.err != nil:
		return false, firstError(t.fail(clean, told(end.err)), end.err)
	case end.declined != nil:
		return false, firstError(t.fail(clean, session.Fail(session.ReasonDenied, end.declined.Error())), errDeclined)
	case ctx.Err() != nil:
		return false, firstError(t.fail(clean, cut(ctx)), context.Cause(ctx))
	}
	d := &session.StepEnded{
		AssistantMessageID: t.message, Finish: t.answer.Finish, Cost: t.answer.Cost, Tokens: t.answer.Tokens, Usage: t.answer.Usage,
		EndID: t.partID(),
	}
	more = (len(t.calls) > 0 && !t.set.final) || t.answer.Finish == session.FinishPaused
	if t.set.output != nil {
		v := t.set.output.Judge(history.Output{
			Calls: outputCalls(t.calls), Texts: t.texts(), Finish: d.Finish, Last: t.set.final, More: more,
		})
		if v.Failure != nil {
			return false, firstError(t.commit(clean, store.Durable, end.last...), t.fail(clean, v.Failure))
		}
		d.Structured, d.Finish, more = v.Value, v.Finish, v.More
	}
	drafts := eventlog.Drafts(d)
	if end.last != nil {
		drafts = append(end.last, drafts...)
	}
	if err = t.commit(clean, store.Durable, drafts...); err == nil && end.last != nil {
		err = fault.Point(clean, fault.ToolSettled)
	}
	return more, err
}

// texts are what the answer says, in its order.
func (t *turn) texts() (out []string) {
	for _, it := range t.order {
		if it.kind == session.FragmentText {
			out = append(out, string(it.text))
		}
	}
	return out
}

// fail ends the turn as failed. Open items end with what they hold, marked partial; calls that never ran fail too.
func (t *turn) fail(ctx context.Context, f *session.Failure) error {
	if t.message == "" {
		return nil
	}
	m, err := t.load(ctx)
	if err != nil {
		return err
	}
	drafts := t.loose(m, f, nil)
	end := &session.StepFailed{AssistantMessageID: t.message, Error: *f, EndID: t.partID()}
	if t.answer != nil {
		end.Cost, end.Tokens = t.answer.Cost, &t.answer.Tokens
	}
	_, err = t.append(ctx, t.id, store.Durable, append(drafts, eventlog.Draft{Data: end})...)
	return err
}

// load reads the turn's message as it stands.
func (t *turn) load(ctx context.Context) (a *session.Assistant, err error) {
	err = t.store.View(ctx, func(r store.Reader) error {
		m, ok, err := r.Message(t.id, t.message)
		if err == nil && !ok {
			err = session.NotFound("message", string(t.message))
		}
		a, _ = m.(*session.Assistant)
		return err
	})
	return a, err
}

// unsettled is the failure of a call that had no outcome when its turn ended.
func unsettled(m session.MessageID, c *session.Tool, why *session.Failure) *session.ToolFailed {
	f := session.Fail(why.Reason, "The tool was not run: "+why.Message)
	if c.State.Status == session.ToolRunning {
		f = session.Fail(why.Reason, "Tool execution interrupted: its outcome is unknown. Check what it did before you run it again.")
	}
	d := &session.ToolFailed{AssistantMessageID: m, CallID: c.ID, PartID: c.PartID, Error: *f}
	if c.Provider != nil {
		d.Provider.Executed = c.Provider.Executed
	}
	return d
}

// loose ends what is open in the stored turn, which may be more or less than we know of when a commit failed: text ends
// with what it holds, marked partial unless the model had ended it; calls fail, but for those kept.
func (t *turn) loose(m *session.Assistant, why *session.Failure, kept map[session.PartID]bool) (drafts []eventlog.Draft) {
	heard := map[session.PartID]*openItem{}
	for _, it := range t.order {
		heard[it.part] = it
	}
	for _, c := range m.Content {
		it := heard[c.ItemID()]
		switch c := c.(type) {
		case *session.Text:
			if c.Time == nil || c.Time.Completed != 0 {
				continue
			}
			if it == nil {
				it = &openItem{kind: session.FragmentText, id: c.ID, part: c.PartID, text: []byte(c.Text)}
			}
			drafts = append(drafts, eventlog.Draft{Data: t.endOf(it, it.meta, !it.done)})
		case *session.Reasoning:
			if c.Time == nil || c.Time.Completed != 0 {
				continue
			}
			if it == nil {
				it = &openItem{kind: session.FragmentReasoning, id: c.ID, part: c.PartID, text: []byte(c.Text)}
			}
			drafts = append(drafts, eventlog.Draft{Data: t.endOf(it, it.meta, !it.done)})
		case *session.Tool:
			if c.State.Status.Settled() || kept[c.PartID] {
				continue
			}
			if it != nil && !it.ended && c.State.Status == session.ToolPending {
				drafts = append(drafts, eventlog.Draft{Data: t.endOf(it, nil, true)})
			}
			drafts = append(drafts, eventlog.Draft{Data: unsettled(m.ID, c, why)})
		}
	}
	return drafts
}
