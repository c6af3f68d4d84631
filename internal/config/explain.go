package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/auth"
)

// Origin says where a value comes from and what it took the place of, the next lower layer first.
type Origin struct {
	Key      string         `json:"key"`
	Value    jsontext.Value `json:"value"` // as written: {env:NAME} is not followed, keys and headers are hidden
	Source   Place          `json:"source"`
	Overrode []Origin       `json:"overrode,omitzero"`
}

// Explain returns the origins of the key's value, or of every value below it; "" is everything. Permission rules come
// one by one, in the order in which they are read, and so do the items of a list that several layers add to. A key that nobody set has no origins.
func (c *Config) Explain(key string) []Origin {
	var path []string
	if key != "" {
		path = strings.Split(key, ".")
		if to, ok := renamed[""][path[0]]; ok {
			path[0] = to
		}
	}
	var out []Origin
	n, at := c.root, []string{}
	for len(path) > len(at) && n != nil {
		name, next := longest(n, path[len(at):])
		if next == nil {
			n = nil
			break
		}
		at, n = append(at, name...), next
	}
	if n != nil {
		out = leaves(out, n, strings.Join(at, "."))
	}
	if len(path) == 0 || path[0] == "permission" {
		out = ruleOrigins(out, "permission", c.Permissions)
	}
	if len(path) == 3 && path[0] == "agent" && path[2] == "permission" {
		out = ruleOrigins(out, strings.Join(path, "."), c.agentRules[path[1]])
	}
	return out
}

// longest finds the member that the path goes through: the names of members may hold dots, as models' do.
func longest(n *node, path []string) ([]string, *node) {
	for i := len(path); i > 0; i-- {
		if v := n.get(strings.Join(path[:i], ".")); v != nil {
			return path[:i], v
		}
	}
	return nil, nil
}

func leaves(out []Origin, n *node, key string) []Origin {
	if n.kind != '{' || len(n.members) == 0 {
		switch {
		case key == "":
			return out
		case gathered(n):
			for _, item := range n.items {
				out = append(out, origin(item, key))
			}
			return out
		}
		return append(out, origin(n, key))
	}
	for _, m := range n.members {
		out = leaves(out, m.value, join(key, m.key))
	}
	return out
}

// gathered reports whether the items of a list come from several documents.
func gathered(n *node) bool {
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.doc != n.doc })
}

func origin(n *node, key string) Origin {
	o := Origin{Key: key, Value: shown(n, key), Source: n.place()}
	for below := n.below; below != nil; below = below.below {
		o.Overrode = append(o.Overrode, Origin{Key: key, Value: shown(below, key), Source: below.place()})
	}
	return o
}

func ruleOrigins(out []Origin, key string, lists []RuleList) []Origin {
	for _, list := range lists {
		for i, r := range list.Rules {
			out = append(out, Origin{Key: key, Value: ruleValue(r), Source: list.Places[i]})
		}
	}
	return out
}

var (
	secretName = regexp.MustCompile(`(?i)(key|token|secret|password|authorization|credential|cookie)$`)
	userInfo   = regexp.MustCompile(`://[^/@]*@`)
)

// shown is the value for people. Headers, what is called like a secret and URLs that hold one are hidden, unless the
// text only names a variable or a file.
func shown(n *node, key string) jsontext.Value {
	sensitive := strings.Contains(key, ".headers.") || strings.Contains(key, ".environment.") || secretName.MatchString(key) || userInfo.MatchString(n.text)
	if sensitive && !(n.kind == '"' && isReference(n)) {
		return quote(nil, auth.Hidden)
	}
	switch n.kind {
	case '[':
		items := make([]jsontext.Value, len(n.items))
		for i, item := range n.items {
			items[i] = shown(item, key)
		}
		return list('[', items, ']')
	case '{':
		members := make([]jsontext.Value, len(n.members))
		for i, m := range n.members {
			members[i] = slices.Concat(quote(nil, m.key), jsontext.Value(":"), shown(m.value, join(key, m.key)))
		}
		return list('{', members, '}')
	}
	return n.encode(nil, written)
}

func list(open byte, values []jsontext.Value, end byte) jsontext.Value {
	out := jsontext.Value{open}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, end)
}

// isReference reports that the text as written is one reference and nothing else.
func isReference(n *node) bool {
	text, err := jsontext.AppendUnquote(nil, n.raw)
	return err == nil && len(text) > 0 && reference.FindString(string(text)) == string(text)
}
