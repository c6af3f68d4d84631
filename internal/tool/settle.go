package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// Settle runs a call and returns its one outcome. It checks that the tool exists and is the one that was offered,
// checks the input, runs the tool and bounds its output, which ends with a note about unknown keys that were removed. A
// panic fails only this call. If ctx ends while the tool runs, the outcome is an error with reason "aborted", unless
// the tool had finished. The caller records the outcome with a context that has not ended.
func (s *Set) Settle(ctx context.Context, call Call) Settlement {
	// Find the tool and fit the input to its schema.
	e, failure := s.findEntry(call.Name)
	if failure != nil {
		return Settlement{Error: failure}
	}
	input, note, err := e.schema.fitInput(call.Name, call.Input)
	if err != nil {
		return Settlement{Error: session.Fail(session.ReasonInvalidInput, sanitizeMessage(err.Error()))}
	}
	call.Input = input
	// Fill in what the caller does not offer, so that tools need not check for nil.
	if call.Ask == nil {
		call.Ask = refuseUnanswerable
	}
	if call.Question == nil {
		call.Question = func(ctx context.Context, _ []session.Question) ([][]string, error) {
			return nil, refuseUnanswerable(ctx, Request{})
		}
	}
	if call.Todos == nil {
		call.Todos = func(context.Context) ([]session.Todo, error) { return nil, nil }
	}
	if call.Progress == nil {
		call.Progress = func(Output) {}
	}
	// Run the tool, then bound its output, also that of a failed call: it may say what was done.
	out, err := s.runTool(ctx, e, call)
	var replaced *session.Replacement
	if err == nil && call.Review != nil {
		out, replaced, err = reviewOutput(ctx, call, out)
	}
	if note != "" {
		out.Content = append(slices.Clip(out.Content), session.ToolContent{Type: "text", Text: note})
	}
	done := Settlement{Output: s.registry.boundOutput(ctx, call.SessionID, e.def, out), Replaced: replaced}
	if err != nil {
		done.Error, done.Denial = s.classifyError(ctx, e.def, err)
	}
	return done
}

// FitInput returns the input as the tool would get it. ok is false if there is no such tool, or the input does not fit.
func (s *Set) FitInput(name string, input jsontext.Value) (fitted jsontext.Value, ok bool) {
	e, failure := s.findEntry(name)
	if failure != nil {
		return nil, false
	}
	fitted, _, err := e.schema.fitInput(name, input)
	return fitted, err == nil
}

func refuseUnanswerable(context.Context, Request) error {
	return Failf("This call needs a permission, which cannot be asked for here.")
}

// reviewOutput lets the reviewers of the call see its output, and returns what they leave with what it replaces. A review
// that fails leaves the output with the failure: the tool has had its effect.
func reviewOutput(ctx context.Context, call Call, out Output) (Output, *session.Replacement, error) {
	next, by, err := call.Review(ctx, out)
	if err != nil || len(by) == 0 {
		return out, nil, err
	}
	before, err := json.Marshal(out.Content, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return out, nil, err
	}
	sum := sha256.Sum256(before)
	return next, &session.Replacement{By: by, Digest: hex.EncodeToString(sum[:]), Bytes: len(before)}, nil
}

// findEntry returns the entry to run, or the failure.
func (s *Set) findEntry(name string) (*entry, *session.Failure) {
	e := s.entries[name]
	switch {
	case e == nil && s.isHidden(name):
		return nil, session.Fail(
			session.ReasonUnknownTool, fmt.Sprintf("The tool %q is not available here: the rules deny it.", name),
		)
	case e == nil:
		return nil, session.Fail(session.ReasonUnknownTool, s.describeUnknown(name))
	case s.registry.currentEntry(name) != e:
		return nil, session.Fail(
			session.ReasonUnknownTool,
			fmt.Sprintf(
				"stale tool call: %q was removed or replaced since this turn began, so it did not run. Call it again if it "+
					"is still offered.", name,
			),
		)
	default:
		return e, nil
	}
}

func (s *Set) isHidden(name string) bool {
	for _, h := range s.hidden {
		if h == name {
			return true
		}
	}
	return false
}

func (s *Set) describeUnknown(name string) string {
	const most = 64
	names := slices.Sorted(maps.Keys(s.entries))
	text := fmt.Sprintf("unknown tool %q.", session.ClipText(name, 80))
	if hint := s.registry.findHint(name); hint != "" {
		text += " " + strings.TrimSuffix(hint, ".") + "."
	} else if near := spelling.FindNearest(name, names, 3); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) == 0 {
		return text + " No tools are available."
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return text + " The tools are " + strings.Join(names, ", ") + more + "."
}

// runTool runs the tool. A panic becomes an error; its stack is only logged.
func (s *Set) runTool(ctx context.Context, e *entry, call Call) (out Output, err error) {
	if ctx.Err() != nil {
		return Output{}, context.Cause(ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			s.registry.config.Log.ErrorContext(ctx, "a tool panicked", "tool", e.def.Name, "session", call.SessionID,
				"call", call.CallID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = Output{}, Failf("Internal error in tool %s. Its effects are unknown.", e.def.Name)
		}
	}()
	return e.tool.Run(ctx, call)
}

// classifyError returns the failure for an error of a tool, and the denial if permission was refused.
func (s *Set) classifyError(ctx context.Context, def Definition, err error) (*session.Failure, *Denial) {
	if d, ok := errors.AsType[*Denial](err); ok {
		return session.Fail(session.ReasonDenied, sanitizeMessage(d.Error())), d
	}
	failure, isFailure := errors.AsType[*Failure](err)
	switch {
	case ctx.Err() != nil && !isFailure:
		return session.Fail(session.ReasonAborted, "The call was interrupted before it finished."), nil
	case isFailure:
		return session.Fail(session.ReasonTool, sanitizeMessage(failure.Message)), nil
	default:
		s.registry.config.Log.ErrorContext(context.WithoutCancel(ctx), "a tool failed", "tool", def.Name, "error", err)
		return session.Fail(session.ReasonTool, sanitizeMessage(def.Name+": "+err.Error())), nil
	}
}

// sanitizeMessage bounds a message and makes it valid text.
func sanitizeMessage(s string) string {
	return string(sanitizeUTF8([]byte(session.ClipText(s, maxMessage))))
}

// FailUnknownTask returns the error of a call that continues a task that does not exist. It names the sessions of tasks
// that are similar, else the first ones.
func FailUnknownTask(id session.ID, tasks []*session.Session) error {
	const shown = 3
	ids, titles := make([]string, len(tasks)), map[string]string{}
	for i, s := range tasks {
		ids[i] = string(s.ID)
		titles[ids[i]] = s.Title
	}
	near := spelling.FindNearest(string(id), ids, shown)
	if len(near) == 0 {
		near = ids[:min(shown, len(ids))]
	}
	if len(near) == 0 {
		return Failf("There is no task %s; leave task_id out to begin another one.", id)
	}
	for i, n := range near {
		near[i] = n + " (" + titles[n] + ")"
	}
	return Failf("There is no task %s; did you mean %s? To begin another one, leave task_id out.",
		id, strings.Join(near, " or "))
}
