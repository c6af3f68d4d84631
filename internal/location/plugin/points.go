package plugin

import (
	"context"
	"errors"
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

// Extensions returns the plugins that are loaded as extensions, in their order.
func (s *Set) Extensions(state State) (out []extension.Extension) {
	mayAllow := s.currentLocation().MayAllow
	for _, o := range state.Plugins {
		p := &plugin{s, o}
		e := extension.Extension{ID: o.ID, MayAllow: mayAllow != nil && mayAllow(o.ID)}
		// A point is of interest if the plugin has one of its hooks.
		on(p, &e.Prompt, p.seePrompt, "chat.message")
		on(p, &e.Options, p.seeOptions, "chat.params", "chat.headers")
		on(p, &e.Definition, p.seeDefinition, "tool.definition")
		on(p, &e.Call, p.seeCall, "tool.execute.before")
		on(p, &e.Result, p.seeResult, "tool.execute.after")
		on(p, &e.Permission, p.seePermission, "permission.ask")
		on(p, &e.Environment, p.seeEnvironment, "shell.env")
		on(p, &e.Compaction, p.seeCompaction, "experimental.session.compacting")
		on(p, &e.Proceed, p.seeProceed, "experimental.compaction.autocontinue")
		on(p, &e.System, p.seeSystem, "experimental.chat.system.transform")
		on(p, &e.Messages, p.seeMessages, "experimental.chat.messages.transform")
		on(p, &e.Command, p.seeCommand, "command.execute.before")
		on(p, &e.Text, p.seeText, "experimental.text.complete")
		out = append(out, e)
	}
	return out
}

// IsServed reports whether cairn calls a hook of plugins. Config and event are called by the program itself.
func IsServed(hook string) bool {
	return slices.Contains([]string{
		"config", "event", "dispose", "chat.message", "chat.params", "chat.headers", "permission.ask",
		"command.execute.before", "tool.definition", "tool.execute.before", "tool.execute.after", "shell.env",
		"experimental.session.compacting", "experimental.compaction.autocontinue", "experimental.text.complete",
		"experimental.chat.system.transform", "experimental.chat.messages.transform",
	}, hook)
}

// on sets the function of a point if the plugin has one of the hooks.
func on[T any](p *plugin, at *func(context.Context, *T) error, f func(context.Context, *T) error, hooks ...string) {
	if slices.ContainsFunc(hooks, p.hasHook) {
		*at = f
	}
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
	_ = json.Unmarshal(provider, &out) // null has no members
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

// seeMessages is experimental.chat.messages.transform. Messages that it leaves alone keep their native form, and those
// that OpenCode has no form for keep their place.
func (p *plugin) seeMessages(ctx context.Context, v *extension.Messages) error {
	forms := p.set.currentLocation().Forms
	// Show each message in OpenCode's form. A compaction has two there, and some messages none.
	owner := map[string]int{} // index of the message, by the id of its first value
	groups := make([][]jsontext.Value, len(v.Messages))
	all := []jsontext.Value{}
	for i, m := range v.Messages {
		values, err := forms.Messages(v.SessionID, []session.Message{m})
		if err != nil {
			return err
		}
		if groups[i] = values; len(values) > 0 {
			owner[idOf(values[0])] = i
		}
		all = append(all, values...)
	}
	out := struct {
		Messages []jsontext.Value `json:"messages"`
	}{slices.Clone(all)}
	out, err := callHook(ctx, p, "experimental.chat.messages.transform", object{}, out)
	if err != nil {
		return err
	}
	if slices.EqualFunc(all, out.Messages, IsEqual) {
		return nil
	}
	// Take what is unchanged as it was, and read the others.
	b := messageBuilder{forms: forms, messages: v.Messages, groups: groups}
	for i := 0; i < len(out.Messages); {
		at, known := owner[idOf(out.Messages[i])]
		n := 0
		if known {
			n = len(groups[at])
		}
		if known && i+n <= len(out.Messages) && slices.EqualFunc(groups[at], out.Messages[i:i+n], IsEqual) {
			b.keep(at)
			i += n
			continue
		}
		b.changed = append(b.changed, out.Messages[i])
		i++
	}
	b.finish()
	v.Messages = b.out
	return b.err
}

// idOf returns the id of a value {info, parts}.
func idOf(v jsontext.Value) string {
	var m struct {
		Info struct {
			ID string `json:"id"`
		} `json:"info"`
	}
	_ = json.Unmarshal(v, &m) // another form has no id
	return m.Info.ID
}

// messageBuilder makes the messages that a plugin left.
type messageBuilder struct {
	forms    Forms
	messages []session.Message  // before
	groups   [][]jsontext.Value // their forms
	next     int                // index of the first message that may follow
	changed  []jsontext.Value   // not read yet
	out      []session.Message
	err      error
}

// keep adds a message that is unchanged, behind those before it that plugins do not see.
func (b *messageBuilder) keep(at int) {
	b.flush()
	b.addHidden(at)
	b.out = append(b.out, b.messages[at])
	b.next = max(b.next, at+1)
}

// addHidden adds the messages before an index that plugins do not see.
func (b *messageBuilder) addHidden(until int) {
	for ; b.next < until; b.next++ {
		if len(b.groups[b.next]) == 0 {
			b.out = append(b.out, b.messages[b.next])
		}
	}
}

// flush reads the messages that are changed. They keep the places of those with their ids.
func (b *messageBuilder) flush() {
	if len(b.changed) == 0 {
		return
	}
	parsed, err := b.forms.ParseMessages(b.changed)
	b.err = errors.Join(b.err, err)
	for _, m := range parsed {
		at := slices.IndexFunc(b.messages, func(old session.Message) bool { return old.Meta().ID == m.Meta().ID })
		if at >= 0 {
			b.addHidden(at)
			m.Meta().Seq = b.messages[at].Meta().Seq
			b.next = max(b.next, at+1)
		}
		b.out = append(b.out, m)
	}
	b.changed = nil
}

// finish adds what is left.
func (b *messageBuilder) finish() {
	b.flush()
	b.addHidden(len(b.messages))
}
