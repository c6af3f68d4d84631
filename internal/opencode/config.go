package opencode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// configKeys are the members of OpenCode's configuration. Ours has more, which its clients would not understand.
var configKeys = []string{
	"$schema", "shell", "logLevel", "server", "command", "skills", "references", "reference", "watcher", "snapshot", "plugin",
	"share", "autoshare", "autoupdate", "disabled_providers", "enabled_providers", "model", "small_model", "default_agent",
	"subagent_depth", "username", "mode", "agent", "provider", "mcp", "formatter", "lsp", "instructions", "layout", "tools",
	"attachment", "enterprise", "tool_output", "experimental",
}

// ConfigOf shows a configuration and its permission rules, in order, as OpenCode's. With filled, the members that
// OpenCode always fills in are there.
func ConfigOf(ours map[string]jsontext.Value, rules []session.Rule, filled bool) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	if filled {
		for name, v := range map[string]string{"command": `{}`, "plugin": `[]`, "mode": `{}`, "agent": `{}`} {
			out[name] = jsontext.Value(v)
		}
	}
	for _, name := range configKeys {
		if v, ok := ours[name]; ok {
			out[name] = v
		}
	}
	if len(rules) > 0 {
		out["permission"] = permissionOf(rules)
	}
	if v := compactionOf(ours["compaction"]); v != nil {
		out["compaction"] = v
	}
	return out
}

// OnlyConfig leaves out of a configuration what OpenCode's has no members for: it ignores them.
func OnlyConfig(members map[string]jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for _, name := range append([]string{"permission", "compaction"}, configKeys...) {
		if v, ok := members[name]; ok {
			out[name] = v
		}
	}
	return out
}

// compactionOf says ours in OpenCode's words.
func compactionOf(ours jsontext.Value) jsontext.Value {
	var c struct {
		Auto      jsontext.Value `json:"auto,omitzero"`
		Prune     jsontext.Value `json:"prune,omitzero"`
		TailTurns jsontext.Value `json:"tail_turns,omitzero"`
		Buffer    jsontext.Value `json:"buffer,omitzero"`
		Keep      struct {
			Tokens jsontext.Value `json:"tokens,omitzero"`
		} `json:"keep"`
	}
	if ours == nil || json.Unmarshal(ours, &c) != nil {
		return nil
	}
	v, err := json.Marshal(struct {
		Auto      jsontext.Value `json:"auto,omitzero"`
		Prune     jsontext.Value `json:"prune,omitzero"`
		TailTurns jsontext.Value `json:"tail_turns,omitzero"`
		Preserve  jsontext.Value `json:"preserve_recent_tokens,omitzero"`
		Reserved  jsontext.Value `json:"reserved,omitzero"`
	}{c.Auto, c.Prune, c.TailTurns, c.Keep.Tokens, c.Buffer})
	if err != nil {
		return nil
	}
	return v
}

// permissionOf writes rules as OpenCode's object of actions and patterns. There, order is the order of members, and a
// pattern is said once, where the last word about it was said: that is the one that counts. What holds for all of an action
// is one word: not every action may have patterns there.
func permissionOf(rules []session.Rule) jsontext.Value {
	var actions []string
	patterns, effects := map[string][]string{}, map[[2]string]session.Effect{}
	for _, r := range rules {
		if patterns[r.Action] == nil || r.Resource == "*" { // of all of it: nothing before it counts any more
			actions = last(actions, r.Action)
		}
		patterns[r.Action] = last(patterns[r.Action], r.Resource)
		effects[[2]string{r.Action, r.Resource}] = r.Effect
	}
	out := []byte{'{'}
	for i, action := range actions {
		out = memberName(out, i, action)
		if all := patterns[action]; len(all) == 1 && all[0] == "*" {
			out, _ = jsontext.AppendQuote(out, effects[[2]string{action, "*"}]) // one of three words
			continue
		}
		out = append(out, '{')
		for j, pattern := range patterns[action] {
			out = memberName(out, j, pattern)
			out, _ = jsontext.AppendQuote(out, effects[[2]string{action, pattern}])
		}
		out = append(out, '}')
	}
	return append(out, '}')
}

// last puts the name behind the others, once.
func last(names []string, name string) []string {
	names = slices.DeleteFunc(names, func(s string) bool { return s == name })
	return append(names, name)
}

// memberName appends the name of the i-th member of an object.
func memberName(out []byte, i int, name string) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	out, _ = jsontext.AppendQuote(out, name) // read from JSON, so it is text
	return append(out, ':')
}
