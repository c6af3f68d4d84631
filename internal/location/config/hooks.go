package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// Hooks are commands that run when something happens, by event, in the shape of Claude Code's settings.
type Hooks struct {
	PreToolUse        []HookGroup `json:"PreToolUse" doc:"before a call of a tool; the matcher selects tools"`
	PostToolUse       []HookGroup `json:"PostToolUse" doc:"after a call that succeeded; the matcher selects tools"`
	PermissionRequest []HookGroup `json:"PermissionRequest" doc:"before a person is asked; the matcher selects tools"`
	UserPromptSubmit  []HookGroup `json:"UserPromptSubmit" doc:"before a prompt is admitted"`
	Stop              []HookGroup `json:"Stop" doc:"when the work of a session ends"`
	SubagentStart     []HookGroup `json:"SubagentStart" doc:"when a subagent begins; the matcher selects agents"`
	SubagentStop      []HookGroup `json:"SubagentStop" doc:"when the work of a subagent ends; the matcher selects agents"`
	PreCompact        []HookGroup `json:"PreCompact" doc:"before a summary is written; the matcher is manual or auto"`
	PostCompact       []HookGroup `json:"PostCompact" doc:"after a summary was written; the matcher is manual or auto"`
	SessionStart      []HookGroup `json:"SessionStart" doc:"when a session begins; the matcher is startup or resume"`
	SessionEnd        []HookGroup `json:"SessionEnd" doc:"when a session ends; the matcher is removed or archived"`
	Notification      []HookGroup `json:"Notification" doc:"when a person is waited for; the matcher is permission_prompt or elicitation_dialog"`
}

// HookEvents are the events that hooks can have, in the order of lists.
var HookEvents = []string{
	"PreToolUse", "PostToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop",
	"PreCompact", "PostCompact", "SessionStart", "SessionEnd", "Notification",
}

// HookGroup is a list of commands for what its matcher selects.
type HookGroup struct {
	Matcher HookMatcher   `json:"matcher,omitzero" doc:"names such as Bash or Edit|Write, or a regular expression; without it all"`
	Hooks   []HookCommand `json:"hooks"`
}

// HookCommand is one command of a hook.
type HookCommand struct {
	Type    string  `json:"type" doc:"command"`
	Command string  `json:"command" doc:"shell command, which gets a JSON object on its standard input"`
	Timeout Seconds `json:"timeout,omitzero" doc:"seconds until the command is ended; default: 60"`
	Allow   bool    `json:"allow,omitzero" doc:"it may allow what a person would be asked; only in your own files"`
}

// Seconds is a positive number of seconds, at most an hour; 0 if not set.
type Seconds float64

// Duration returns the seconds as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// UnmarshalJSONFrom reads a number.
func (s *Seconds) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if v.Kind() != '0' || err != nil || n <= 0 || n > 3600 {
		return errors.New("want a number of seconds, at most 3600")
	}
	*s = Seconds(n)
	return nil
}

// HookMatcher selects by name: "" and "*" select all, words with | between them the names that they are, and any other
// text the names in which the regular expression is found.
type HookMatcher string

// plainMatcher is a matcher of whole names.
var plainMatcher = regexp.MustCompile(`^[\w|-]+$`)

// compile returns the regular expression of the matcher, nil for all and for whole names.
func (m HookMatcher) compile() (*regexp.Regexp, error) {
	if m == "" || m == "*" || plainMatcher.MatchString(string(m)) {
		return nil, nil
	}
	return regexp.Compile(string(m))
}

// Matches reports whether the matcher selects one of the names, which are those of one thing.
func (m HookMatcher) Matches(names ...string) bool {
	if m == "" || m == "*" {
		return true
	}
	re, err := m.compile()
	if err != nil {
		return false
	}
	for _, name := range names {
		if re != nil && re.MatchString(name) {
			return true
		}
		for word := range strings.SplitSeq(string(m), "|") {
			if re == nil && word == name {
				return true
			}
		}
	}
	return false
}

// UnmarshalJSONFrom reads an object with a matcher that can be used: without it, the commands would run for all.
func (g *HookGroup) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain HookGroup
	var p plain
	if err := json.UnmarshalDecode(dec, &p); err != nil {
		return err
	}
	if _, err := p.Matcher.compile(); err != nil {
		return errors.New(`want a "matcher" of names such as Edit|Write, or a regular expression of Go`)
	}
	*g = HookGroup(p)
	return nil
}

// UnmarshalJSONFrom reads an object with a command; other kinds of hooks do not run.
func (h *HookCommand) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain HookCommand
	var p plain
	if err := json.UnmarshalDecode(dec, &p); err != nil {
		return err
	}
	if p.Type != "command" || strings.TrimSpace(p.Command) == "" {
		return errors.New(`want an object with "type": "command" and a "command"`)
	}
	*h = HookCommand(p)
	return nil
}

// Hook is one command of the hooks of a location.
type Hook struct {
	ID       string            `json:"id"` // such as hook/PreToolUse/1
	Event    string            `json:"event"`
	Matcher  HookMatcher       `json:"matcher,omitzero"`
	Command  string            `json:"command"`
	Timeout  Seconds           `json:"timeout,omitzero"`
	MayAllow bool              `json:"mayAllow,omitzero"`
	Source   document.Position `json:"source"`
	Active   bool              `json:"active"` // it runs: its file is the user's, or trusted

	isProject bool
}

// ListHooks returns the hooks of all layers, those of the lowest layer first in each event. Those of a project that is
// not trusted follow, and are not active.
func (c *Config) ListHooks() (out []Hook) {
	if c.root != nil {
		out = listHooks(c.root.Get("hooks"), true)
	}
	for i, h := range out { // a project that is trusted without its plugins is so without its hooks
		if h.isProject && c.Trusted && !c.runsPlugins {
			out[i].Active = false
		}
	}
	for _, n := range c.untrustedHooks {
		out = append(out, listHooks(n, false)...)
	}
	return out
}

// ListFileHooks returns the hook groups of one file by event, as they are written there.
func (c *Config) ListFileHooks(file string) map[string][]jsontext.Value {
	out := map[string][]jsontext.Value{}
	for _, n := range append([]*document.Node{c.root.Get("hooks")}, c.untrustedHooks...) {
		for _, event := range HookEvents {
			groups := n.Get(event)
			if groups == nil {
				continue
			}
			for _, g := range groups.Items {
				if g.Doc.Name == file {
					out[event] = append(out[event], g.AppendJSON(nil, document.AsWritten))
				}
			}
		}
	}
	return out
}

// listHooks returns the hooks below the value of the key hooks, without malformed ones.
func listHooks(n *document.Node, active bool) (out []Hook) {
	for _, event := range HookEvents {
		groups := n.Get(event)
		if groups == nil {
			continue
		}
		number := 0
		for _, group := range groups.Items {
			list := group.Get("hooks")
			if list == nil {
				continue
			}
			for _, item := range list.Items {
				var h HookCommand
				if json.Unmarshal(item.AppendJSON(nil, document.Substituted), &h) != nil {
					continue
				}
				number++
				one := Hook{
					Event: event, Matcher: HookMatcher(group.Get("matcher").TextValue()), Command: h.Command,
					Timeout: h.Timeout, Source: item.FindPosition(), Active: active,
				}
				one.isProject = item.Doc.IsProject()
				one.MayAllow = h.Allow && !one.isProject
				if active {
					one.ID = fmt.Sprintf("hook/%s/%d", event, number)
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// mergeHooks keeps the hooks of lower layers before those of the document: a layer adds hooks and removes none.
func (l *loader) mergeHooks(low *document.Node, d *document.Document) {
	before, added := low.Get("hooks"), d.Root.Get("hooks")
	if before == nil || added == nil || before.Kind != '{' || added.Kind != '{' {
		return
	}
	for _, m := range added.Members {
		was := before.Get(m.Key)
		if was == nil || was.Kind != '[' || m.Value.Kind != '[' {
			continue
		}
		all := *m.Value
		all.Items = append(append([]*document.Node{}, was.Items...), m.Value.Items...)
		l.config.root.Get("hooks").Set(m.Key, &all)
	}
}
