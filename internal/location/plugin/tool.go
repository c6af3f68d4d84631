package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Bounds of tools.
const (
	maxTitle       = 200      // characters
	maxDescription = 16 << 10 // bytes
	maxSchema      = 64 << 10 // bytes
)

// pluginTool is a tool of a plugin.
type pluginTool struct {
	set         *Set
	plugin      string
	name        string
	description string
	schema      jsontext.Value
	action      string // of a built-in tool that it takes the place of; else its name
	isNew       bool   // it takes no place
}

// Tools returns the tools of the plugins that are loaded, and why some are left out, by the id of their plugin. Of two tools
// with one name the later counts, as in OpenCode.
// ActionOf returns the permission action of a built-in tool of the name, "" without one; nil has none.
func (s *Set) Tools(state State, actionOf func(name string) string) (out []tool.Tool, problems map[string]error) {
	at := map[string]int{}
	problems = map[string]error{}
	for _, o := range state.Plugins {
		for _, t := range o.Tools {
			builtin := ""
			if actionOf != nil {
				builtin = actionOf(t.Name)
			}
			about := session.ClipText(cmp.Or(t.Description, t.Name), maxDescription)
			one := &pluginTool{s, o.ID, t.Name, about, t.Schema, cmp.Or(builtin, t.Name), builtin == ""}
			if len(t.Schema) > maxSchema || t.Schema.Kind() != '{' {
				problems[o.ID] = fmt.Errorf("the tool %s is left out: its schema is no object, or has more than %d bytes",
					t.Name, maxSchema)
				continue
			}
			if i, ok := at[t.Name]; ok {
				out[i] = one
				continue
			}
			at[t.Name] = len(out)
			out = append(out, one)
		}
	}
	return out, problems
}

// Definition describes the tool.
func (t *pluginTool) Definition() tool.Definition {
	return tool.Definition{Name: t.name, Description: t.description, Schema: t.schema, Action: t.action}
}

// Bounds of the texts of an input that the rules decide about.
const (
	maxTexts = 200
	longText = 4 << 10 // bytes; a longer one is neither stored nor shown with the request
)

// addResources adds to a request what the call is about. Those of a built-in tool deny parts of what it can do: a tool in its
// place is about each text of its input, wherever it stands, so that what one of them denies is denied.
func (t *pluginTool) addResources(r *tool.Request, input jsontext.Value) error {
	r.Resources = []string{"*"}
	if t.isNew {
		return nil
	}
	var texts []string
	for d := jsontext.NewDecoder(bytes.NewReader(input)); ; {
		token, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			slices.Sort(texts)
			for _, text := range slices.Compact(texts) {
				if len(text) > longText {
					r.Hidden = append(r.Hidden, text)
					continue
				}
				r.Resources = append(r.Resources, text)
				if path := t.resolvePath(text); path != "" && path != text {
					r.Resources = append(r.Resources, path)
				}
			}
			return nil
		case err != nil:
			return err
		case token.Kind() != '"' || token.String() == "":
		case len(texts) == maxTexts:
			return tool.Failf("The input has more than %d texts: the rules about %s decide about each. "+
				"Make several calls.", maxTexts, t.action)
		default:
			texts = append(texts, token.String())
		}
	}
}

// resolvePath returns what rules about paths match if the text is one, however it is written; "" if it can be none.
func (t *pluginTool) resolvePath(text string) string {
	if strings.ContainsAny(text, "\n\x00") {
		return ""
	}
	if file, ok := fileuri.Parse(text); ok {
		text = file
	}
	if rest, below := strings.CutPrefix(text, "~/"); below {
		home, _ := os.UserHomeDir() // "" without one
		text = filepath.Join(home, rest)
	}
	l := t.set.currentLocation()
	p, err := workpath.Resolver{Directory: l.Directory, Worktree: l.Worktree}.Resolve(text)
	if err != nil {
		return ""
	}
	return p.Resource()
}

// Run asks and calls the tool.
func (t *pluginTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	request := tool.Request{
		Action: t.action, Save: []string{"*"},
		Metadata: tool.EncodeObject(map[string]any{"plugin": t.plugin, "input": call.Input}),
	}
	if err := t.addResources(&request, call.Input); err != nil {
		return tool.Output{}, err
	}
	if err := call.Ask(ctx, request); err != nil {
		return tool.Output{}, err
	}
	// Call it. Its requests for permissions find the call by the id of the request.
	var key callKey
	var result struct {
		Title       string         `json:"title"`
		Output      string         `json:"output"`
		Metadata    jsontext.Value `json:"metadata"`
		Attachments []struct {
			Mime     string `json:"mime"`
			URL      string `json:"url"`
			Filename string `json:"filename"`
		} `json:"attachments"`
	}
	err := t.set.call(ctx, "tool", map[string]any{
		"plugin": t.plugin, "name": t.name, "args": call.Input,
		"context": map[string]any{
			"sessionID": call.SessionID, "messageID": call.MessageID, "agent": call.Agent, "callID": call.CallID,
		},
	}, &result, func(p *peer, id int64) {
		key = callKey{p, id}
		t.set.mu.Lock()
		defer t.set.mu.Unlock()
		t.set.calls[key] = runningCall{progress: call.Progress, ask: func(program context.Context, r tool.Request) error {
			asking, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(program, func() { cancel(errEnded) })()
			return call.Ask(asking, r)
		}}
	})
	t.set.mu.Lock()
	delete(t.set.calls, key)
	t.set.mu.Unlock()
	if err != nil {
		return tool.Output{}, t.describe(ctx, err)
	}
	// Its output is a text that the model reads, and not ours.
	out := tool.Output{Title: session.ClipText(result.Title, maxTitle)}
	if result.Metadata.Kind() == '{' {
		out.Structured = result.Metadata
	}
	text := strings.ToValidUTF8(result.Output, "\uFFFD")
	out.Content = session.TextContent(tool.MarkImitations(call, t.plugin, text))
	for _, a := range result.Attachments {
		if strings.HasPrefix(a.URL, "data:") {
			out.Attachments = append(out.Attachments, session.File{URI: a.URL, Mime: a.Mime, Name: a.Filename})
		}
	}
	return out, nil
}

// describe returns the error of a call for the model.
func (t *pluginTool) describe(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if failed, ok := errors.AsType[*remoteError](err); ok {
		return tool.Failf("%s", cmp.Or(failed.Message, "The tool failed and did not say why."))
	}
	return tool.Failf("The tool of %s failed: %v", t.plugin, err)
}

// ask asks for a permission, for a call of a tool.
func (s *Set) ask(ctx context.Context, p *peer, params jsontext.Value) error {
	var q struct {
		Call       int64          `json:"call"`
		Permission string         `json:"permission"`
		Patterns   []string       `json:"patterns"`
		Always     []string       `json:"always"`
		Metadata   jsontext.Value `json:"metadata"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return err
	}
	call, ok := s.findCall(callKey{p, q.Call})
	if !ok {
		return errors.New("the call of the tool has ended; a tool asks before it returns")
	}
	return call.ask(ctx, tool.Request{Action: q.Permission, Resources: q.Patterns, Save: q.Always, Metadata: q.Metadata})
}

// showProgress shows the state of a call.
func (s *Set) showProgress(p *peer, params jsontext.Value) {
	var q struct {
		Call     int64          `json:"call"`
		Title    string         `json:"title"`
		Metadata jsontext.Value `json:"metadata"`
	}
	if json.Unmarshal(params, &q) != nil {
		return
	}
	if call, ok := s.findCall(callKey{p, q.Call}); ok && call.progress != nil {
		call.progress(tool.Output{Title: session.ClipText(q.Title, maxTitle), Structured: q.Metadata})
	}
}

// findCall returns the call of a tool that runs.
func (s *Set) findCall(k callKey) (runningCall, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, ok := s.calls[k]
	return call, ok
}
