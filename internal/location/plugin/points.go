package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// plugin is one plugin that is loaded.
type plugin struct {
	set *Set
	Offer
}

// hookPoints are the hooks that cairn calls at points of the work, with what makes a plugin look at the point.
var hookPoints = []struct {
	hook   string
	follow func(*plugin, *extension.Extension)
}{
	{"chat.message", func(p *plugin, e *extension.Extension) { e.Prompt = p.seePrompt }},
	{"chat.params", func(p *plugin, e *extension.Extension) { e.Options = p.seeOptions }},
	{"chat.headers", func(p *plugin, e *extension.Extension) { e.Options = p.seeOptions }},
	{"tool.definition", func(p *plugin, e *extension.Extension) { e.Definition = p.seeDefinition }},
	{"tool.execute.before", func(p *plugin, e *extension.Extension) { e.Call = p.seeCall }},
	{"tool.execute.after", func(p *plugin, e *extension.Extension) { e.Result = p.seeResult }},
	{"permission.ask", func(p *plugin, e *extension.Extension) { e.Permission = p.seePermission }},
	{"shell.env", func(p *plugin, e *extension.Extension) { e.Environment = p.seeEnvironment }},
	{"experimental.session.compacting", func(p *plugin, e *extension.Extension) { e.Compaction = p.seeCompaction }},
	{"experimental.compaction.autocontinue", func(p *plugin, e *extension.Extension) { e.Proceed = p.seeProceed }},
	{"experimental.chat.system.transform", func(p *plugin, e *extension.Extension) { e.System = p.seeSystem }},
	{"experimental.chat.messages.transform", func(p *plugin, e *extension.Extension) { e.Messages = p.seeMessages }},
	{"command.execute.before", func(p *plugin, e *extension.Extension) { e.Command = p.seeCommand }},
	{"experimental.text.complete", func(p *plugin, e *extension.Extension) { e.Text = p.seeText }},
}

// Extensions returns the plugins that are loaded as extensions, in their order.
func (s *Set) Extensions(state State) (out []extension.Extension) {
	mayAllow := s.currentLocation().MayAllow
	for _, o := range state.Plugins {
		p := &plugin{s, o}
		e := extension.Extension{ID: o.ID, MayAllow: mayAllow != nil && mayAllow(o.ID)}
		for _, at := range hookPoints {
			if p.hasHook(at.hook) {
				at.follow(p, &e)
			}
		}
		out = append(out, e)
	}
	return out
}

// IsServed reports whether cairn calls a hook of plugins. The plugin host itself calls config, event and dispose.
func IsServed(hook string) bool {
	if hook == "config" || hook == "event" || hook == "dispose" {
		return true
	}
	for _, at := range hookPoints {
		if at.hook == hook {
			return true
		}
	}
	return false
}

// object is a JSON object that is built here.
type object = map[string]any

// callHook calls a hook and returns what it made of the output. A member that it removed is zero.
func callHook[T any](ctx context.Context, p *plugin, name string, input any, output T) (out T, err error) {
	params := object{"plugin": p.ID, "name": name, "input": input, "output": output}
	err = p.set.call(ctx, "hook", params, &out, nil)
	return out, err
}

// seePrompt is chat.message.
func (p *plugin) seePrompt(ctx context.Context, v *extension.Prompt) error {
	forms := p.set.currentLocation().Forms
	message, parts, err := forms.Prompt(v)
	if err != nil {
		return err
	}
	in := object{"sessionID": v.SessionID, "messageID": v.MessageID}
	if v.Prompt.Agent != "" {
		in["agent"] = v.Prompt.Agent
	}
	if m := v.Prompt.Model; m != nil {
		in["model"] = object{"providerID": m.ProviderID, "modelID": m.ID}
		if m.Variant != "" {
			in["variant"] = m.Variant
		}
	}
	out := struct {
		Message jsontext.Value   `json:"message"`
		Parts   []jsontext.Value `json:"parts"`
	}{message, slices.Clone(parts)}
	out, err = callHook(ctx, p, "chat.message", in, out)
	if err != nil {
		return err
	}
	if IsEqual(message, out.Message) && slices.EqualFunc(parts, out.Parts, IsEqual) {
		return nil
	}
	return forms.ApplyPrompt(v, out.Message, out.Parts)
}

// IsEqual reports whether two JSON values have the same meaning.
func IsEqual(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// withContext returns a provider as hooks get it: its members, as OpenCode gives them, and those that its types name.
func withContext(provider jsontext.Value) object {
	out := object{}
	if json.Unmarshal(provider, &out) != nil || out == nil { // null has no members
		out = object{}
	}
	options := out["options"]
	if options == nil {
		options = object{}
	}
	out["source"], out["info"], out["options"] = "config", provider, options
	return out
}

// seeOptions is chat.params and chat.headers.
func (p *plugin) seeOptions(ctx context.Context, v *extension.Options) error {
	model, provider := p.set.currentLocation().Forms.Model(v.Model)
	in := object{
		"sessionID": v.SessionID, "agent": v.Agent, "model": model, "provider": withContext(provider),
		"message": object{
			"id": v.MessageID, "sessionID": v.SessionID, "role": "user", "agent": v.Agent,
			"model": object{"providerID": v.Model.ProviderID, "modelID": v.Model.ID},
			"time":  object{"created": time.Now().UnixMilli()},
		},
	}
	if p.hasHook("chat.params") {
		out := struct {
			Temperature     *float64                  `json:"temperature,omitzero"`
			TopP            *float64                  `json:"topP,omitzero"`
			TopK            *int                      `json:"topK,omitzero"`
			MaxOutputTokens *int                      `json:"maxOutputTokens,omitzero"`
			Options         map[string]jsontext.Value `json:"options"`
		}{v.Temperature, v.TopP, v.TopK, v.MaxTokens, maps.Clone(v.Options)}
		out, err := callHook(ctx, p, "chat.params", in, out)
		if err != nil {
			return err
		}
		v.Temperature, v.TopP, v.TopK, v.MaxTokens = out.Temperature, out.TopP, out.TopK, out.MaxOutputTokens
		if len(out.Options)+len(v.Options) > 0 {
			v.Options = out.Options
		}
	}
	if p.hasHook("chat.headers") {
		out := struct {
			Headers map[string]string `json:"headers"`
		}{maps.Clone(v.Headers)}
		out, err := callHook(ctx, p, "chat.headers", in, out)
		if err != nil {
			return err
		}
		if len(out.Headers)+len(v.Headers) > 0 {
			v.Headers = out.Headers
		}
	}
	return nil
}

// seeDefinition is tool.definition.
func (p *plugin) seeDefinition(ctx context.Context, v *extension.Definition) error {
	out := struct {
		Description string         `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
	}{v.Description, v.Schema}
	out, err := callHook(ctx, p, "tool.definition", object{"toolID": v.Tool}, out)
	if err != nil {
		return err
	}
	v.Description = out.Description
	if !IsEqual(v.Schema, out.Parameters) {
		v.Schema = out.Parameters
	}
	return nil
}

// seeCall is tool.execute.before.
func (p *plugin) seeCall(ctx context.Context, v *extension.Call) error {
	out := struct {
		Args jsontext.Value `json:"args"`
	}{v.Input}
	in := object{"tool": v.Tool, "sessionID": v.SessionID, "callID": v.CallID}
	out, err := callHook(ctx, p, "tool.execute.before", in, out)
	if err != nil {
		return err
	}
	if !IsEqual(v.Input, out.Args) {
		v.Input = out.Args
	}
	return nil
}

// seeResult is tool.execute.after.
func (p *plugin) seeResult(ctx context.Context, v *extension.Result) error {
	var texts []string
	for _, c := range v.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	text := strings.Join(texts, "\n")
	metadata := v.Metadata
	if metadata == nil {
		metadata = jsontext.Value("{}")
	}
	out := struct {
		Title    string         `json:"title"`
		Output   string         `json:"output"`
		Metadata jsontext.Value `json:"metadata"`
	}{v.Title, text, metadata}
	in := object{"tool": v.Tool, "sessionID": v.SessionID, "callID": v.CallID, "args": v.Input}
	out, err := callHook(ctx, p, "tool.execute.after", in, out)
	if err != nil {
		return err
	}
	// Replace what has changed: all texts by the new one, in the place of the first.
	v.Title = session.ClipText(out.Title, maxTitle)
	if !IsEqual(metadata, out.Metadata) && out.Metadata.Kind() == '{' {
		v.Metadata = out.Metadata
	}
	if out.Output == text {
		return nil
	}
	content := session.TextContent(strings.ToValidUTF8(out.Output, "\uFFFD"))
	for _, c := range v.Content {
		if c.Type != "text" {
			content = append(content, c)
		}
	}
	v.Content = content
	return nil
}

// seePermission is permission.ask.
func (p *plugin) seePermission(ctx context.Context, v *extension.Permission) error {
	before := v.Effect
	out := struct {
		Status session.Effect `json:"status"`
	}{before}
	out, err := callHook(ctx, p, "permission.ask", p.set.currentLocation().Forms.Permission(v), out)
	if err != nil {
		return err
	}
	switch out.Status {
	case session.Allow, session.Ask, session.Deny:
	default:
		return fmt.Errorf("permission.ask: the status %.40q is not ask, deny or allow", out.Status)
	}
	if v.Effect = out.Status; v.Effect != before {
		v.Reason = "the plugin decided so"
	}
	return nil
}

// seeEnvironment is shell.env.
func (p *plugin) seeEnvironment(ctx context.Context, v *extension.Environment) error {
	out := struct {
		Env map[string]string `json:"env"`
	}{maps.Clone(v.Variables)}
	if out.Env == nil {
		out.Env = map[string]string{}
	}
	in := object{"cwd": v.Directory}
	if v.SessionID != "" {
		in["sessionID"] = v.SessionID
	}
	if v.CallID != "" {
		in["callID"] = v.CallID
	}
	out, err := callHook(ctx, p, "shell.env", in, out)
	if err != nil {
		return err
	}
	if len(out.Env)+len(v.Variables) > 0 {
		v.Variables = out.Env
	}
	return nil
}

// seeCompaction is experimental.session.compacting. A prompt that would take the place of OpenCode's is added to the
// instructions: the form of the summary stays.
func (p *plugin) seeCompaction(ctx context.Context, v *extension.Compaction) error {
	out := struct {
		Context []string `json:"context"`
		Prompt  string   `json:"prompt,omitzero"`
	}{Context: slices.Clone(v.Context)}
	if out.Context == nil {
		out.Context = []string{}
	}
	out, err := callHook(ctx, p, "experimental.session.compacting", object{"sessionID": v.SessionID}, out)
	if err != nil {
		return err
	}
	if out.Prompt != "" {
		out.Context = append(out.Context, out.Prompt)
	}
	if len(out.Context)+len(v.Context) > 0 {
		v.Context = out.Context
	}
	return nil
}

// seeProceed is experimental.compaction.autocontinue.
func (p *plugin) seeProceed(ctx context.Context, v *extension.Proceed) error {
	out := struct {
		Enabled bool `json:"enabled"`
	}{v.Enabled}
	model, provider := p.set.currentLocation().Forms.Model(v.Model)
	out, err := callHook(ctx, p, "experimental.compaction.autocontinue", object{
		"sessionID": v.SessionID, "agent": v.Agent, "model": model, "overflow": v.Overflow,
		"provider": withContext(provider),
	}, out)
	if err == nil {
		v.Enabled = out.Enabled
	}
	return err
}

// seeSystem is experimental.chat.system.transform. The plugin gets no texts of others, so that it can only add.
func (p *plugin) seeSystem(ctx context.Context, v *extension.System) error {
	out := struct {
		System []string `json:"system"`
	}{[]string{}}
	in := object{"sessionID": v.SessionID}
	if model, _ := p.set.currentLocation().Forms.Model(v.Model); model != nil {
		in["model"] = model
	}
	out, err := callHook(ctx, p, "experimental.chat.system.transform", in, out)
	if err != nil {
		return err
	}
	v.Text = strings.TrimSpace(strings.Join(out.System, "\n\n"))
	return nil
}

// seeCommand is command.execute.before.
func (p *plugin) seeCommand(ctx context.Context, v *extension.Command) error {
	forms := p.set.currentLocation().Forms
	shown := extension.Prompt{SessionID: v.SessionID, Prompt: v.Prompt}
	message, parts, err := forms.Prompt(&shown)
	if err != nil {
		return err
	}
	out := struct {
		Parts []jsontext.Value `json:"parts"`
	}{slices.Clone(parts)}
	in := object{"command": v.Name, "sessionID": v.SessionID, "arguments": v.Arguments}
	out, err = callHook(ctx, p, "command.execute.before", in, out)
	if err != nil {
		return err
	}
	if slices.EqualFunc(parts, out.Parts, IsEqual) {
		return nil
	}
	err = forms.ApplyPrompt(&shown, message, out.Parts)
	v.Prompt = shown.Prompt
	return err
}

// seeText is experimental.text.complete.
func (p *plugin) seeText(ctx context.Context, v *extension.Text) error {
	out := struct {
		Text string `json:"text"`
	}{v.Text}
	in := object{"sessionID": v.SessionID, "messageID": v.MessageID, "partID": v.PartID}
	out, err := callHook(ctx, p, "experimental.text.complete", in, out)
	if err != nil {
		return err
	}
	v.Text = out.Text
	return nil
}
