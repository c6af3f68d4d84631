package config

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// View returns the members of the whole configuration for people and programs, as its documents write them, with what may
// be secret hidden. Permission rules are in Rules.
func (c *Config) View() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for _, m := range c.root.members {
		out[m.key] = jsontext.Value(view(nil, m.value, m.key))
	}
	return out
}

// view appends the value at the key.
func view(b []byte, n *node, key string) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, m.key), ':')
			b = view(b, m.value, join(key, m.key))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = view(b, item, key)
		}
		return append(b, ']')
	default:
		return append(b, shown(n, key)...)
	}
}

// Rules returns the rules of every document that may give them, lowest layer first.
func (c *Config) Rules() []session.Rule {
	var out []session.Rule
	for _, list := range c.Permissions {
		out = append(out, list.Rules...)
	}
	return out
}
