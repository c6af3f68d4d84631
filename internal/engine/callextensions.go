package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// showCalls shows the calls of the answer to the extensions, before they are recorded: what these decide commits with
// the calls, and a restart that runs a call again reads it. Calls that will not run are not shown. The error is the
// cause of ctx's end.
func (t *turn) showCalls(ctx context.Context, calls []*turnlog.Call) error {
	if !t.input.extensions.HasCall() || t.input.lastStep {
		return nil
	}
	for _, c := range calls {
		if c.Cut || c.Invalid != "" || t.input.output != nil && c.Name == history.OutputTool {
			continue
		}
		input, fits := t.input.tools().FitInput(c.Name, c.Input)
		if !fits {
			continue
		}
		if err := t.showCall(ctx, c, extension.Call{
			SessionID: t.id, MessageID: t.input.prompt, CallID: c.ID, Agent: t.input.agent.ID, Tool: c.Name, Input: input,
		}); err != nil {
			return err
		}
	}
	return nil
}

// showCall shows one call to the extensions and keeps what they decide. An extension that fails denies the call.
func (t *turn) showCall(ctx context.Context, c *turnlog.Call, v extension.Call) error {
	input := v.Input
	by, err := t.input.extensions.Call(ctx, &v)
	if failure, ok := errors.AsType[*extension.Error](err); ok {
		c.Extensions = &session.CallExtensions{
			Effect: session.Deny, Reason: "it failed: " + failure.Err.Error(), By: append(by, failure.Extension),
		}
		return nil
	}
	if err != nil || len(by) == 0 {
		return err
	}
	c.Extensions = &session.CallExtensions{
		Effect: v.Effect, Reason: v.Reason, Context: v.Context, Halt: v.Halt, By: by,
	}
	if string(v.Input) != string(input) {
		c.Extensions.Input = slices.Clone(v.Input)
	}
	return nil
}

// refusedByExtension returns the failure of a call that an extension denied, nil if none did.
func refusedByExtension(c *turnlog.Call) *session.Failure {
	x := c.Extensions
	if x == nil || x.Effect != session.Deny {
		return nil
	}
	text := fmt.Sprintf("the extension %s refused this call", strings.Join(x.By, ", "))
	if x.Reason != "" {
		text += ": " + x.Reason
	}
	return session.Fail(session.ReasonDenied, text)
}

// reviewer returns what shows the result of a call to the extensions and adds what they had to say about the call; nil if
// there is nothing to do.
func (t *turn) reviewer(called *toolCall) func(context.Context, tool.Output) (tool.Output, []string, error) {
	c := called.call
	hasContext := c.Extensions != nil && c.Extensions.Context != ""
	if !t.input.extensions.HasResult() && !hasContext {
		return nil
	}
	return func(ctx context.Context, o tool.Output) (tool.Output, []string, error) {
		v := extension.Result{
			SessionID: t.id, CallID: c.ID, Agent: t.input.agent.ID, Tool: c.Name, Input: c.RunsWith(),
			Title: o.Title, Content: o.Content, Metadata: o.Structured,
		}
		by, err := t.input.extensions.Result(ctx, &v)
		if failure, ok := errors.AsType[*extension.Error](err); ok {
			return o, nil, tool.Failf("The tool has run, but %v", failure)
		}
		if err != nil {
			return o, nil, err
		}
		if v.Halt != "" {
			called.halted = describeHalt(by, v.Halt)
		}
		if v.Title == o.Title && reflect.DeepEqual(v.Content, o.Content) && string(v.Metadata) == string(o.Structured) {
			by = nil
		}
		o.Title, o.Content, o.Structured = v.Title, v.Content, v.Metadata
		if hasContext {
			o.Content = append(slices.Clip(o.Content), session.ToolContent{Type: "text", Text: c.Extensions.Context})
			by = session.JoinNames(slices.Clone(c.Extensions.By), by)
		}
		return o, by, nil
	}
}

// environment returns what asks the extensions for variables of a command of the call, nil if none gives any. The
// extensions that did are kept with the call, for its settlement.
func (t *turn) environment(c *toolCall) func(context.Context, string) (map[string]string, error) {
	if !t.input.extensions.HasEnvironment() {
		return nil
	}
	return func(ctx context.Context, directory string) (map[string]string, error) {
		v := extension.Environment{SessionID: t.id, CallID: c.call.ID, Directory: directory}
		by, err := t.input.extensions.Environment(ctx, &v)
		if failure, ok := errors.AsType[*extension.Error](err); ok {
			return nil, tool.Failf("The command was not run: %v", failure)
		}
		c.call.EnvironmentBy = by
		return v.Variables, err
	}
}

// describeHalt says that extensions ended the work, and why.
func describeHalt(by []string, why string) string {
	return fmt.Sprintf("the extension %s ended the work: %s", strings.Join(by, ", "), why)
}
