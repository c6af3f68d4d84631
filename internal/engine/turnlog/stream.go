package turnlog

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// startItem opens an item. The start of a text is committed at once, that of arguments after inputDelay.
func (r *Recorder) startItem(ctx context.Context, it *item) error {
	key := itemKey(it.kind, it.id)
	if r.items[key] != nil {
		return newViolation("%s %q starts twice", it.kind, it.id)
	}
	if r.start == "" {
		r.start = r.config.Journal.NewPartID()
	}
	it.part, it.started = r.config.Journal.NewPartID(), r.config.Journal.Now()
	r.items[key] = it
	r.order = append(r.order, it)
	if it.kind == session.FragmentToolInput {
		return nil
	}
	return r.Commit(ctx, store.Relaxed)
}

// findOpenItem returns the item that an event of the stream continues. It is a violation of the protocol if that has
// not begun or has ended.
func (r *Recorder) findOpenItem(kind session.FragmentItem, id string) (*item, error) {
	it := r.items[itemKey(kind, id)]
	if it == nil || it.done {
		return nil, newViolation("%s %q goes on but is not open", kind, id)
	}
	return it, nil
}

func (r *Recorder) appendDelta(ctx context.Context, kind session.FragmentItem, id, delta string) error {
	it, err := r.findOpenItem(kind, id)
	if err != nil {
		return err
	}
	// Text that cannot be stored is not shown either.
	delta, tooLong := r.countBytes(strings.ToValidUTF8(delta, "\uFFFD"))
	it.text = append(it.text, delta...)
	r.unsaved += len(delta)
	switch {
	case it.startCommitted:
		r.config.Journal.Log.Publish(r.config.SessionID, it.part, delta)
	case r.config.Journal.Now().Sub(it.started) > inputDelay:
		if err := r.Commit(ctx, store.Relaxed); err != nil {
			return err
		}
	}
	if err := fault.PassPoint(ctx, fault.TurnDelta); err != nil {
		return err
	}
	if r.unsaved >= r.config.CheckBytes {
		if err := r.Checkpoint(ctx); err != nil {
			return err
		}
	}
	return tooLong
}

// endItem notes that the model ended the item. The next commit records it.
func (r *Recorder) endItem(kind session.FragmentItem, id string, meta llm.Metadata) error {
	it, err := r.findOpenItem(kind, id)
	if err != nil {
		return err
	}
	it.done, it.meta = true, meta
	r.unsaved -= len(it.text) - it.saved
	return nil
}

// endText notes that the model ended a text, and lets it be reviewed.
func (r *Recorder) endText(ctx context.Context, ev llm.TextEnd) error {
	if err := r.endItem(session.FragmentText, ev.ID, ev.Metadata); err != nil || r.config.ReviewText == nil {
		return err
	}
	it := r.items[itemKey(session.FragmentText, ev.ID)]
	text, replaced := r.config.ReviewText(ctx, r.message, it.part, string(it.text))
	if replaced != nil {
		it.text, it.replaced = []byte(text), replaced
	}
	return nil
}

// countBytes counts a piece of the answer and returns the part of it within the limit, with a *TooLongError if that is
// not all of it.
func (r *Recorder) countBytes(piece string) (string, error) {
	left := r.config.AnswerBytes - r.size
	if len(piece) <= left {
		r.size += len(piece)
		return piece, nil
	}
	for left > 0 && !utf8.RuneStart(piece[left]) {
		left--
	}
	r.size += left
	return piece[:left], &TooLongError{r.config.AnswerBytes}
}

// recordCall records a complete call. A local call waits for the end of the stream, because a broken answer may not
// have meant it: nothing of a broken answer runs.
func (r *Recorder) recordCall(ctx context.Context, ev llm.ToolCallEvent) error {
	// Complete the item of its arguments, which some providers do not stream.
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
	// Refuse what breaks the protocol.
	if it.name != ev.Name {
		return newViolation("the call %q changes its name from %q to %q", ev.ID, it.name, ev.Name)
	}
	if r.callByID[ev.ID] != nil {
		return newViolation("the call %q comes twice", ev.ID)
	}
	// Keep a local call for the end of the stream; a hosted one has run already and commits now.
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
	return r.Commit(ctx, store.Relaxed, eventlog.Draft{Data: c.calledEvent()})
}

// recordHostedResult settles a call that the provider ran, once. The result is stored verbatim.
func (r *Recorder) recordHostedResult(ctx context.Context, ev llm.HostedResult) error {
	// It must settle a call that the provider ran, and only once.
	c := r.callByID[ev.ID]
	switch {
	case c == nil || !c.hosted:
		return newViolation("a result for the call %q that it did not run", ev.ID)
	case c.settled && ev.IsError:
		return nil
	case c.settled:
		return newViolation("a second result for the call %q", ev.ID)
	}
	// Commit the settlement at once: the call has had its effect.
	provider := session.CallProvider{Executed: true, Metadata: encodeMetadata(ev.Metadata)}
	var d session.EventData = &session.ToolSuccess{
		CallID: ev.ID, PartID: c.PartID, Structured: jsontext.Value(`{}`),
		Content: hostedContent(ev.Content), Result: ev.Result, Provider: provider,
	}
	if ev.IsError {
		d = &session.ToolFailed{
			CallID: ev.ID, PartID: c.PartID, Result: ev.Result, Provider: provider,
			Error: *session.Fail(session.ReasonTool, "the provider's tool reported an error"),
		}
	}
	err := r.Commit(ctx, store.Relaxed, eventlog.Draft{Data: d})
	c.settled = err == nil
	return err
}

// recordFinish notes the end of the answer. If it reached its limit of output tokens, the last call is cut where its
// arguments are invalid.
func (r *Recorder) recordFinish(ev llm.Finish) error {
	if r.answer != nil {
		return newViolation("it ended twice")
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
	r.answer = &session.Answer{Finish: finish, Usage: u.Raw}
	r.answer.Cost, r.answer.Tokens = PriceOf(r.config.Cost, u)
}

// TakeAnswer returns how the answer ended and what it cost, nil if unknown, and forgets it: it is recorded elsewhere.
func (r *Recorder) TakeAnswer() *session.Answer {
	a := r.answer
	r.answer = nil
	return a
}

// newViolation returns the failure of a stream that breaks the protocol.
func newViolation(format string, args ...any) error {
	text := "the provider broke its protocol: " + fmt.Sprintf(format, args...)
	return &llm.Error{Class: llm.Malformed, Message: text}
}
