package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// call is one local tool call of a turn, while it runs.
type call struct {
	record *record.Call
	part   session.PartID
	id     string
	name   string
	input  jsontext.Value
	place  place     // among the tools of the process
	asks   *ask.Call // what is asked on its behalf
}

func newCall(c *record.Call) *call {
	return &call{record: c, part: c.PartID, id: c.ID, name: c.Name, input: c.Input}
}

// cutCall is what the model reads about a call that its limit of output tokens cut.
const cutCall = "Your answer reached its limit of output tokens in the middle of this call, so it was not run. " +
	"The same call would be cut again: say less at once, and split what you write into several smaller calls."

// output returns the call as structured output reads it.
func (c *call) output() history.OutputCall {
	return history.OutputCall{Name: c.name, Input: c.input, Invalid: c.record.Invalid, Cut: c.record.Cut}
}

func outputCalls(calls []*call) []history.OutputCall {
	out := make([]history.OutputCall, len(calls))
	for i, c := range calls {
		out[i] = c.output()
	}
	return out
}

// outcome is how the calls of a turn came out together.
type outcome struct {
	declined *tool.Denied // the user declined: no further turn
	left     bool         // some wait for replies that the next process will hear
	err      error        // recording failed
	// last is the settlement of the turn's only call: it commits together with the turn's end, which follows at once.
	last []eventlog.Draft
}

// settleAll runs the calls side by side, within bounds, and returns when each has its one settlement, or waits for a
// reply across a shutdown. A declined ask stops the others.
func (t *turn) settleAll(ctx context.Context) outcome {
	if len(t.calls) == 0 {
		return outcome{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := semaphore.NewWeighted(int64(t.limits.CallTools))
	tools := t.set.tools()
	var wg sync.WaitGroup
	var out outcome
	var previous *ask.Call
	for _, c := range t.calls {
		c.asks = ask.NewCall(t.message, c.id, c.part, previous)
		previous = c.asks
		release, err := t.room(ctx, places, c) // in the order of the calls
		t.statuses.calling(t.id, 1)
		wg.Go(func() {
			defer t.statuses.calling(t.id, -1)
			defer release()
			defer c.asks.Release()
			end := t.settle(ctx, tools, c, err)
			t.mu.Lock()
			defer t.mu.Unlock()
			out.left = out.left || end.left
			out.err = firstError(out.err, end.err)
			out.last = end.last
			if end.declined != nil && out.declined == nil {
				out.declined = end.declined
				cancel(cause.ErrDeclined)
			}
		})
	}
	wg.Wait()
	return out
}

// room waits for the call's place among the tools of the turn and of the process. release gives back what was taken.
func (t *turn) room(ctx context.Context, places *semaphore.Weighted, c *call) (release func(), err error) {
	if err := places.Acquire(ctx, 1); err != nil {
		return func() {}, err
	}
	c.place.all = t.tools
	err = c.place.take(ctx, func() {})
	return func() { c.place.leave(); places.Release(1) }, err
}

// settle runs one call and records its outcome. With noPlace it was stopped before it could run.
func (t *turn) settle(ctx context.Context, tools *tool.Set, c *call, noPlace error) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			t.logger.Error("settling a call panicked", "session", t.id, "call", c.id, "panic", p, "stack", string(debug.Stack()))
			out = outcome{err: fmt.Errorf("settling the call %s broke down", c.id)}
		}
	}()
	s := t.execute(ctx, tools, c, noPlace)
	if c.asks.IsPending() && errors.Is(context.Cause(ctx), cause.ErrShutdown) {
		return outcome{left: true}
	}
	if s.Denied != nil && s.Denied.Stop {
		out.declined = s.Denied
	}
	if err := fault.Point(ctx, fault.ToolPreSettle); err != nil {
		return outcome{err: err}
	}
	// What a tool did is recorded even when we are leaving: it has happened.
	clean := context.WithoutCancel(ctx)
	drafts := eventlog.Drafts(t.recorder.SettledEvent(c.record, s))
	if s.Error == nil && s.Output.Todos != nil {
		drafts = eventlog.Drafts(&session.TodosSet{Todos: s.Output.Todos}, drafts[0].Data)
	}
	if len(t.calls) == 1 && out.declined == nil {
		out.last = drafts
		return out
	}
	if _, err := t.append(clean, t.id, store.Durable, drafts...); err != nil {
		return outcome{err: err}
	}
	out.err = fault.Point(clean, fault.ToolSettled)
	return out
}

func (t *turn) execute(ctx context.Context, tools *tool.Set, c *call, noPlace error) tool.Settlement {
	refuse := func(r session.Reason, msg string) tool.Settlement {
		return tool.Settlement{Error: session.Fail(r, msg)}
	}
	if t.set.output != nil && c.name == history.OutputTool {
		return t.set.output.AnswerCall(c.output())
	}
	if t.set.final {
		return refuse(session.ReasonSteps, "tools are switched off: the allowance of steps is used up")
	}
	if c.record.Cut {
		return refuse(session.ReasonInvalidInput, cutCall)
	}
	if c.record.Invalid != "" {
		return refuse(session.ReasonInvalidInput, "the arguments cannot be used: "+c.record.Invalid+". Send the call again with a JSON object.")
	}
	if noPlace != nil {
		return refuse(cause.ReasonOf(ctx), "the tool was not run: the turn was stopped")
	}
	if denied, err := t.checkLoop(ctx, c); err != nil {
		return refuse(cause.ReasonOf(ctx), "the tool was not run: the turn was stopped")
	} else if denied != nil {
		return tool.Settlement{Error: session.Fail(session.ReasonDoomLoop, denied.Error()), Denied: denied}
	}
	if err := fault.Point(ctx, fault.ToolExec); err != nil {
		return refuse(session.ReasonTool, err.Error())
	}
	shown := t.live(c)
	defer shown.flush()
	s := tools.Settle(ctx, tool.Call{
		SessionID: t.id, MessageID: t.message, PartID: c.part, CallID: c.id, Agent: t.set.agent.ID, Name: c.name, Input: c.input,
		Since: t.set.since(),
		Ask:   func(ctx context.Context, r tool.Request) error { return t.Asks.Authorize(ctx, t.asker(t.set, c), r) },
		Question: func(ctx context.Context, qs []session.Question) ([][]string, error) {
			return t.askQuestions(ctx, c, qs)
		},
		Todos:    t.todos,
		Results:  t.results,
		Progress: shown.show,
		Jobs:     t.Jobs.ForSession(t.id),
	})
	if s.Error != nil && s.Error.Reason == session.ReasonAborted {
		s.Error = cutShort(ctx, s)
	}
	return s
}

// cutShort is the failure of a call that was stopped; nil where the user stopped it and the tool tells what it had done by
// then: that is its result.
func cutShort(ctx context.Context, s tool.Settlement) *session.Failure {
	reason := cause.ReasonOf(ctx)
	if reason == session.ReasonAborted && len(s.Output.Content) > 0 {
		return nil
	}
	return session.Fail(reason, s.Error.Message)
}

// todos reads the session's list as it is now.
func (t *turn) todos(ctx context.Context) ([]session.Todo, error) {
	s, err := t.session(ctx, t.id)
	if err != nil {
		return nil, err
	}
	return s.Todos, nil
}
