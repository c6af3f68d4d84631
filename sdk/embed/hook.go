package embed

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/sdk"
)

// Hooks are functions of the program that look at the work of all sessions, or change it. Nil functions are not called.
// They are called concurrently, and return when their ctx ends; all hooks at one point have five seconds together, by
// default (extensions.timeout of the configuration). What they change is recorded. An error fails what the hook looks
// at: the prompt is refused, the call does not run, its result is a failure, the permission is denied.
type Hooks struct {
	Prompt     func(ctx context.Context, h *PromptHook) error     // a prompt, before it is recorded
	BeforeCall func(ctx context.Context, h *CallHook) error       // a call of a tool, before it runs
	AfterCall  func(ctx context.Context, h *ResultHook) error     // the result of a call that succeeded
	Permission func(ctx context.Context, h *PermissionHook) error // an ask, before people are asked
}

// PromptHook is a prompt. Text can be changed.
type PromptHook struct {
	SessionID string
	PromptID  string
	Text      string
}

// CallHook is a call of a tool. Input can be changed, to another object that is valid by the tool's schema.
type CallHook struct {
	SessionID string
	CallID    string
	Agent     string
	Tool      string
	Input     json.RawMessage
}

// ResultHook is the result of a call. Title and Text can be changed.
type ResultHook struct {
	SessionID string
	CallID    string
	Agent     string
	Tool      string
	Input     json.RawMessage
	Title     string
	Text      string
}

// PermissionHook is a request for a permission that no rule denies. Effect is what the rules say, sdk.EffectAllow or
// sdk.EffectAsk, and can be changed to any effect. Reason is for the model and for people.
type PermissionHook struct {
	SessionID string
	CallID    string
	Agent     string
	Tool      string
	Action    string
	Resources []string
	Effect    sdk.Effect
	Reason    string
}

// extensionID names the hooks of the program in records.
const extensionID = "program"

// programHooks are Hooks as the engine uses them. Each call gets copies: only what a hook may change is taken from it.
type programHooks struct {
	Hooks
	logger *slog.Logger
}

// newExtensions returns the extension that calls the hooks; none without hooks.
func newExtensions(hooks Hooks, logger *slog.Logger) []extension.Extension {
	h, e := programHooks{hooks, logger}, extension.Extension{ID: extensionID, MayAllow: true}
	if h.Prompt != nil {
		e.Prompt = h.promptPoint
	}
	if h.BeforeCall != nil {
		e.Call = h.callPoint
	}
	if h.AfterCall != nil {
		e.Result = h.resultPoint
	}
	if h.Permission != nil {
		e.Permission = h.permissionPoint
	}
	if h.Prompt == nil && h.BeforeCall == nil && h.AfterCall == nil && h.Permission == nil {
		return nil
	}
	return []extension.Extension{e}
}

func (h programHooks) promptPoint(ctx context.Context, p *extension.Prompt) error {
	v := PromptHook{string(p.SessionID), string(p.MessageID), p.Prompt.Text}
	if err := callHook(ctx, h.logger, "Prompt", h.Prompt, &v); err != nil {
		return err
	}
	p.Prompt.Text = v.Text
	return nil
}

func (h programHooks) callPoint(ctx context.Context, c *extension.Call) error {
	v := CallHook{string(c.SessionID), c.CallID, c.Agent, c.Tool, json.RawMessage(slices.Clone(c.Input))}
	if err := callHook(ctx, h.logger, "BeforeCall", h.BeforeCall, &v); err != nil {
		return err
	}
	c.Input = jsontext.Value(v.Input)
	return nil
}

func (h programHooks) resultPoint(ctx context.Context, r *extension.Result) error {
	v := ResultHook{
		string(r.SessionID), r.CallID, r.Agent, r.Tool, json.RawMessage(slices.Clone(r.Input)), r.Title,
		joinTexts(r.Content),
	}
	before := v.Text
	if err := callHook(ctx, h.logger, "AfterCall", h.AfterCall, &v); err != nil {
		return err
	}
	r.Title = v.Title
	if v.Text != before {
		r.Content = replaceText(r.Content, v.Text)
	}
	return nil
}

func (h programHooks) permissionPoint(ctx context.Context, p *extension.Permission) error {
	v := PermissionHook{
		string(p.SessionID), p.CallID, p.Agent, p.Tool, p.Action, slices.Clone(p.Resources),
		sdk.Effect(p.Effect), p.Reason,
	}
	if err := callHook(ctx, h.logger, "Permission", h.Permission, &v); err != nil {
		return err
	}
	p.Effect, p.Reason = session.Effect(v.Effect), v.Reason
	return nil
}

// callHook calls the hook of the name. A panic, and the end of its goroutine, are errors.
func callHook[T any](
	ctx context.Context, logger *slog.Logger, name string, hook func(context.Context, *T) error, v *T,
) error {
	_, err := call(ctx, logger, "hook "+name, func() (struct{}, error) { return struct{}{}, hook(ctx, v) })
	return err
}

// joinTexts joins the texts of a result.
func joinTexts(content []session.ToolContent) (text string) {
	for _, c := range content {
		switch {
		case c.Type != "text":
		case text != "":
			text += "\n" + c.Text
		default:
			text = c.Text
		}
	}
	return text
}

// replaceText returns the content with the text in place of all texts, and the files as they are.
func replaceText(content []session.ToolContent, text string) []session.ToolContent {
	out := session.TextContent(text)
	for _, c := range content {
		if c.Type != "text" {
			out = append(out, c)
		}
	}
	return out
}
