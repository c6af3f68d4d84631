package config

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

// ListMembers returns the members of the effective configuration as written in its documents, with secrets hidden.
// Permission rules are returned by Rules.
func (c *Config) ListMembers() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for _, m := range c.root.Members {
		out[m.Key] = jsontext.Value(appendMasked(nil, m.Value, m.Key))
	}
	return out
}

// appendMasked appends the value at the key, with secrets hidden.
func appendMasked(b []byte, n *document.Node, key string) []byte {
	// Objects and lists are descended into; only single values are masked.
	switch n.Kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(document.AppendQuoted(b, m.Key), ':')
			b = appendMasked(b, m.Value, document.JoinKey(key, m.Key))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMasked(b, item, key)
		}
		return append(b, ']')
	default:
		return append(b, maskValue(n, key)...)
	}
}

// Rules returns the permission rules of all documents, lowest layer first.
func (c *Config) Rules() []session.Rule {
	var out []session.Rule
	for _, list := range c.Permissions {
		out = append(out, list.Rules...)
	}
	return out
}
