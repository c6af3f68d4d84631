package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// Origin is the position at which a value was written, and the values of lower layers that it replaced, the next lower
// one first.
type Origin struct {
	Key      string            `json:"key"`
	Value    jsontext.Value    `json:"value"` // as written: {env:NAME} is not expanded, secrets and headers are hidden
	Source   document.Position `json:"source"`
	Overrode []Origin          `json:"overrode,omitzero"`
}

// Explain returns the origins of the key's value, or of every value below it; "" means all keys. Permission rules, and
// the items of lists that several layers extend, are returned one by one in the order in which they are read. A key
// that is not set has no origins.
func (c *Config) Explain(key string) []Origin {
	// A key may be written in another spelling of its first name.
	var path []string
	if key != "" {
		path = strings.Split(key, ".")
		if to, ok := document.OtherSpellings[""][path[0]]; ok {
			path[0] = to
		}
	}
	// Descend to the node. A name may contain dots, so take the longest member that fits.
	var out []Origin
	n, at := c.root, []string{}
	for len(path) > len(at) && n != nil {
		name, next := longestMember(n, path[len(at):])
		if next == nil {
			n = nil
			break
		}
		at, n = append(at, name...), next
	}
	if n != nil {
		out = appendLeafOrigins(out, n, strings.Join(at, "."))
	}
	// Each file has its own version; none of them counts for the others.
	if key == document.VersionKey {
		for _, n := range c.versions {
			out = append(out, originOf(n, key))
		}
	}
	// Rules are no members of the tree; they are listed from where they were collected.
	if len(path) == 0 || path[0] == "permission" {
		out = ruleOrigins(out, "permission", c.Permissions)
	}
	if len(path) == 3 && path[0] == "agent" && path[2] == "permission" {
		out = ruleOrigins(out, strings.Join(path, "."), c.agentRules[path[1]])
	}
	return out
}

// longestMember returns the member with the longest name that the path begins with. Names may contain dots, as those of
// models do.
func longestMember(n *document.Node, path []string) ([]string, *document.Node) {
	for i := len(path); i > 0; i-- {
		if v := n.Get(strings.Join(path[:i], ".")); v != nil {
			return path[:i], v
		}
	}
	return nil, nil
}

func appendLeafOrigins(out []Origin, n *document.Node, key string) []Origin {
	if n.Kind != '{' || len(n.Members) == 0 {
		switch {
		case key == "":
			return out
		case isMergedList(n):
			for _, item := range n.Items {
				out = append(out, originOf(item, key))
			}
			return out
		}
		return append(out, originOf(n, key))
	}
	for _, m := range n.Members {
		out = appendLeafOrigins(out, m.Value, document.JoinKey(key, m.Key))
	}
	return out
}

// isMergedList reports whether the items of a list come from several documents.
func isMergedList(n *document.Node) bool {
	return slices.ContainsFunc(n.Items, func(item *document.Node) bool { return item.Doc != n.Doc })
}

func originOf(n *document.Node, key string) Origin {
	o := Origin{Key: key, Value: maskValue(n, key), Source: n.FindPosition()}
	for below := n.Below; below != nil; below = below.Below {
		o.Overrode = append(o.Overrode, Origin{Key: key, Value: maskValue(below, key), Source: below.FindPosition()})
	}
	return o
}

func ruleOrigins(out []Origin, key string, lists []RuleList) []Origin {
	for _, list := range lists {
		for i, r := range list.Rules {
			out = append(out, Origin{Key: key, Value: ruleValue(r), Source: list.Positions[i]})
		}
	}
	return out
}

var (
	secretName = regexp.MustCompile(`(?i)(key|token|secret|password|authorization|credential|cookie)$`)
	userInfo   = regexp.MustCompile(`://[^/@]*@`)
)

// maskValue returns the value for display. Headers, values of keys that are named like secrets, and URLs with
// credentials are hidden, unless the text is only a reference to a variable or file.
func maskValue(n *document.Node, key string) jsontext.Value {
	// Sensitive by its key or its content: hide all of it, since a part may be the secret.
	sensitive := strings.Contains(key, ".headers.") || strings.Contains(key, ".environment.") ||
		secretName.MatchString(key) || strings.HasSuffix(key, ".webhook") || // its path is a secret
		userInfo.MatchString(n.Text)
	if sensitive && !(n.Kind == '"' && isReference(n)) {
		return document.AppendQuoted(nil, auth.Hidden)
	}
	// Otherwise descend, with the keys of members.
	switch n.Kind {
	case '[':
		items := make([]jsontext.Value, len(n.Items))
		for i, item := range n.Items {
			items[i] = maskValue(item, key)
		}
		return joinValues('[', items, ']')
	case '{':
		members := make([]jsontext.Value, len(n.Members))
		for i, m := range n.Members {
			value := maskValue(m.Value, document.JoinKey(key, m.Key))
			members[i] = slices.Concat(document.AppendQuoted(nil, m.Key), jsontext.Value(":"), value)
		}
		return joinValues('{', members, '}')
	}
	return n.AppendJSON(nil, document.AsWritten)
}

func joinValues(open byte, values []jsontext.Value, end byte) jsontext.Value {
	out := jsontext.Value{open}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, end)
}

// isReference reports whether the text as written is exactly one {env:…} or {file:…} reference.
func isReference(n *document.Node) bool {
	text, err := jsontext.AppendUnquote(nil, n.Raw)
	return err == nil && len(text) > 0 && reference.FindString(string(text)) == string(text)
}
