package extension

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Activity is something that takes time: the work of a session on prompts, or a call of a tool.
type Activity struct {
	SessionID session.ID
	ParentID  session.ID        // of a subagent
	MessageID session.MessageID // of the newest prompt
	Agent     string
	Tool      string // "" is the work of a session; the rest is of a call
	CallID    string
	Input     jsontext.Value // that the call runs with
}

// Outcome is how an activity ended.
type Outcome struct {
	Failure session.Reason        // "" without one
	Content []session.ToolContent // of the result of a call
}

// Observation follows one activity. Both functions may be nil; a panic of one of them is logged.
type Observation struct {
	Attach func(context.Context) context.Context // what the activity runs with
	End    func(Outcome)                         // called once; not if the process ends before
}

// Observations are those of all extensions. A nil Observations does nothing.
type Observations []Observation

// Observe tells the extensions that an activity begins.
func (r *Run) Observe(ctx context.Context, a Activity) (all Observations) {
	if r == nil {
		return nil
	}
	for i := range r.chain.config.Extensions {
		e := &r.chain.config.Extensions[i]
		if e.Observe != nil {
			r.recoverPanic(e.ID, func() { all = append(all, r.protect(e.ID, e.Observe(ctx, a))) })
		}
	}
	return all
}

// protect returns the observation with functions that do not panic.
func (r *Run) protect(id string, o Observation) (safe Observation) {
	if o.Attach != nil {
		safe.Attach = func(ctx context.Context) context.Context {
			r.recoverPanic(id, func() { ctx = o.Attach(ctx) })
			return ctx
		}
	}
	if o.End != nil {
		safe.End = func(how Outcome) { r.recoverPanic(id, func() { o.End(how) }) }
	}
	return safe
}

// recoverPanic calls a function of an extension that must not harm the work.
func (r *Run) recoverPanic(id string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.chain.config.Logger.Error("an extension panicked", "extension", id, "panic", fmt.Sprint(p))
		}
	}()
	f()
}

// Attach returns the context that the activity runs with.
func (o Observations) Attach(ctx context.Context) context.Context {
	for _, one := range o {
		if one.Attach != nil {
			ctx = one.Attach(ctx)
		}
	}
	return ctx
}

// End tells the extensions how the activity ended.
func (o Observations) End(how Outcome) {
	for _, one := range o {
		if one.End != nil {
			one.End(how)
		}
	}
}
