package extension

import (
	"context"

	"github.com/cairn-dev/cairn/internal/session"
)

// Prompt shows a prompt. An error refuses it.
func (r *Run) Prompt(ctx context.Context, v *Prompt) (by []string, err error) {
	return call(ctx, r, PointPrompt, v, func(e *Extension) func(context.Context, *Prompt) error { return e.Prompt })
}

// Options shows the options of a request.
func (r *Run) Options(ctx context.Context, v *Options) (by []string, err error) {
	return call(ctx, r, PointOptions, v, func(e *Extension) func(context.Context, *Options) error { return e.Options })
}

// HasOptions reports whether an extension looks at the options of requests.
func (r *Run) HasOptions() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Options) error { return e.Options })
}

// HasDefinition reports whether an extension looks at the definitions of tools.
func (r *Run) HasDefinition() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Definition) error { return e.Definition })
}

// Definition shows the definition of a tool.
func (r *Run) Definition(ctx context.Context, v *Definition) (by []string, err error) {
	return call(ctx, r, PointDefinition, v, func(e *Extension) func(context.Context, *Definition) error {
		return e.Definition
	})
}

// Call shows a call. An error fails it. Effect becomes stricter, or, by an extension that may allow, Allow instead of an
// ask.
func (r *Run) Call(ctx context.Context, v *Call) (by []string, err error) {
	return call(ctx, r, PointCall, v, func(e *Extension) func(context.Context, *Call) error {
		if e.Call == nil {
			return nil
		}
		return func(ctx context.Context, v *Call) error {
			before := *v
			err := e.Call(ctx, v)
			if v.Effect = e.limit(before.Effect, v.Effect); v.Effect == before.Effect {
				v.Reason = before.Reason
			}
			return err
		}
	})
}

// HasCall reports whether an extension looks at calls.
func (r *Run) HasCall() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Call) error { return e.Call })
}

// Result shows the result of a call. An error makes it a failure.
func (r *Run) Result(ctx context.Context, v *Result) (by []string, err error) {
	return call(ctx, r, PointResult, v, func(e *Extension) func(context.Context, *Result) error { return e.Result })
}

// HasResult reports whether an extension looks at results.
func (r *Run) HasResult() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Result) error { return e.Result })
}

// Permission shows a request for a permission. An error denies it. The effect is limited as that of a call.
func (r *Run) Permission(ctx context.Context, v *Permission) (by []string, err error) {
	return call(ctx, r, PointPermission, v, func(e *Extension) func(context.Context, *Permission) error {
		if e.Permission == nil {
			return nil
		}
		return func(ctx context.Context, v *Permission) error {
			before := *v
			err := e.Permission(ctx, v)
			if v.Effect = e.limit(before.Effect, v.Effect); v.Effect == before.Effect {
				v.Reason = before.Reason
			}
			return err
		}
	})
}

// HasEnvironment reports whether an extension looks at the environment of processes.
func (r *Run) HasEnvironment() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Environment) error { return e.Environment })
}

// Environment shows the variables of a process. An error keeps it from starting.
func (r *Run) Environment(ctx context.Context, v *Environment) (by []string, err error) {
	return call(ctx, r, PointEnvironment, v, func(e *Extension) func(context.Context, *Environment) error {
		return e.Environment
	})
}

// Compaction shows the request for a summary.
func (r *Run) Compaction(ctx context.Context, v *Compaction) (by []string, err error) {
	return call(ctx, r, PointCompaction, v, func(e *Extension) func(context.Context, *Compaction) error {
		return e.Compaction
	})
}

// Proceed shows whether the model goes on after a compaction.
func (r *Run) Proceed(ctx context.Context, v *Proceed) (by []string, err error) {
	return call(ctx, r, PointProceed, v, func(e *Extension) func(context.Context, *Proceed) error { return e.Proceed })
}

// Stop shows the end of the work of a session.
func (r *Run) Stop(ctx context.Context, v *Stop) (by []string, err error) {
	return call(ctx, r, PointStop, v, func(e *Extension) func(context.Context, *Stop) error { return e.Stop })
}

// Notify tells the extensions of the run's chain of an event, in the background.
func (r *Run) Notify(n *Notifier, e Event) {
	if r != nil {
		n.Notify(r.chain, e)
	}
}

// HasStop reports whether an extension looks at the end of work.
func (r *Run) HasStop() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Stop) error { return e.Stop })
}

// Command shows a command of a caller. An error refuses it.
func (r *Run) Command(ctx context.Context, v *Command) (by []string, err error) {
	return call(ctx, r, PointCommand, v, func(e *Extension) func(context.Context, *Command) error { return e.Command })
}

// Text shows a text of an answer.
func (r *Run) Text(ctx context.Context, v *Text) (by []string, err error) {
	return call(ctx, r, PointText, v, func(e *Extension) func(context.Context, *Text) error { return e.Text })
}

// HasText reports whether an extension looks at the texts of answers.
func (r *Run) HasText() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Text) error { return e.Text })
}

// HasProceed reports whether an extension decides if the model goes on after a compaction.
func (r *Run) HasProceed() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Proceed) error { return e.Proceed })
}

// limit returns what an extension's decision makes of the effect before it, which is "" without a decision: the
// stricter of both, except that one that may allow turns an ask into Allow.
func (e *Extension) limit(before, after session.Effect) session.Effect {
	switch {
	case before == session.Deny || after == session.Deny:
		return session.Deny
	case after == session.Allow && e.MayAllow:
		return session.Allow
	case after == session.Ask:
		return session.Ask
	default:
		return before
	}
}

// SystemText is the text of one extension for the system context, or why it cannot be known now.
type SystemText struct {
	Extension string
	Text      string
	Err       error
}

// System asks each extension that adds to the system context for its text, one after the other.
func (r *Run) System(ctx context.Context, v System) (texts []SystemText) {
	of := func(e *Extension) func(context.Context, *System) error { return e.System }
	if !hasAny(r, of) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.chain.config.Budget)
	defer cancel()
	for i := range r.chain.config.Extensions {
		e := &r.chain.config.Extensions[i]
		if e.System == nil {
			continue
		}
		t := SystemText{Extension: e.ID, Err: r.findFailure(e.ID)}
		if t.Err == nil {
			own := v
			own, t.Err = callOne(ctx, r, e.ID, e.System, own)
			t.Text = own.Text
		}
		texts = append(texts, t)
	}
	return texts
}

// Messages shows the messages of a request.
func (r *Run) Messages(ctx context.Context, v *Messages) (by []string, err error) {
	return call(ctx, r, PointMessages, v, func(e *Extension) func(context.Context, *Messages) error { return e.Messages })
}

// HasMessages reports whether an extension looks at the messages of requests.
func (r *Run) HasMessages() bool {
	return hasAny(r, func(e *Extension) func(context.Context, *Messages) error { return e.Messages })
}

// HasEvent reports whether an extension is told of events.
func (r *Run) HasEvent() bool { return hasAny(r, eventOf) }
