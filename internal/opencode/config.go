package opencode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// configKeys are the members of OpenCode's configuration. cairn has more, which OpenCode's clients would reject.
var configKeys = []string{
	"$schema", "shell", "logLevel", "server", "command", "skills", "references", "reference", "watcher", "snapshot",
	"plugin",
	"share", "autoshare", "autoupdate", "disabled_providers", "enabled_providers", "model", "small_model",
	"default_agent",
	"subagent_depth", "username", "mode", "agent", "provider", "mcp", "formatter", "lsp", "instructions", "layout",
	"tools",
	"attachment", "enterprise", "tool_output", "experimental",
}

// ConfigOf converts a configuration and its ordered permission rules to OpenCode's form. filled adds the members that
// OpenCode always has.
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

// OnlyConfig removes members that OpenCode's configuration does not have and would ignore.
func OnlyConfig(members map[string]jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for _, name := range append([]string{"permission", "compaction"}, configKeys...) {
		if v, ok := members[name]; ok {
			out[name] = v
		}
	}
	return out
}

// ConfigChanges returns the members of the sent configuration that differ from the shown one; an empty map if none do.
// A client that sends back the whole configuration so changes only what its user changed: defaults, values of other
// files and hidden secrets are not written to the user's file. Objects are compared by member, permission rules as a
// whole, because their order has a meaning. A null is kept, since it removes a member.
func ConfigChanges(shown, sent map[string]jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for name, value := range sent {
		was := shown[name]
		if sameJSON(was, value) {
			continue
		}
		var before, after map[string]jsontext.Value
		if name != "permission" && was.Kind() == '{' && value.Kind() == '{' &&
			json.Unmarshal(was, &before) == nil && json.Unmarshal(value, &after) == nil {
			changes := ConfigChanges(before, after)
			if len(changes) == 0 {
				continue
			}
			if v, err := json.Marshal(changes, json.Deterministic(true)); err == nil {
				value = v
			}
		}
		out[name] = value
	}
	return out
}

// sameJSON reports whether two values have the same members in the same order.
func sameJSON(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Compact() == nil && b.Compact() == nil && string(a) == string(b)
}

// compactionOf converts the compaction settings.
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

// permissionOf converts rules to OpenCode's object of actions and patterns. Its order of members is the order of rules,
// and each pattern appears once, at the position of its last rule. An action with one rule for everything is written as
// one word, because not every action accepts patterns.
func permissionOf(rules []session.Rule) jsontext.Value {
	var actions []string
	patterns, effects := map[string][]string{}, map[[2]string]session.Effect{}
	for _, r := range rules {
		if patterns[r.Action] == nil || r.Resource == "*" { // of all of it: nothing before it counts any more
			actions = moveToEnd(actions, r.Action)
		}
		patterns[r.Action] = moveToEnd(patterns[r.Action], r.Resource)
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

// moveToEnd moves the name to the end of names.
func moveToEnd(names []string, name string) []string {
	names = slices.DeleteFunc(names, func(s string) bool { return s == name })
	return append(names, name)
}

// memberName appends the i-th member's name and separator.
func memberName(out []byte, i int, name string) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	out, _ = jsontext.AppendQuote(out, name) // read from JSON, so it is text
	return append(out, ':')
}
