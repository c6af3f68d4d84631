package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// node is a JSON value that remembers where it was written. Nodes of a document may be changed until it is merged;
// merging makes new nodes and leaves those of documents as they are.
type node struct {
	kind    jsontext.Kind
	raw     jsontext.Value // of scalars, as written
	text    string         // of strings, after substitution
	members []member       // of objects, in order
	items   []*node        // of arrays

	doc    *document
	offset int
	below  *node // what this value took the place of, in a lower layer
}

type member struct {
	key    string
	offset int
	value  *node
}

// get returns the member's value, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	if i := n.index(key); i >= 0 {
		return n.members[i].value
	}
	return nil
}

// all returns the members, none of what is no object.
func (n *node) all() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// words is the text that a value is; "" for anything else.
func (n *node) words() string {
	if n == nil {
		return ""
	}
	return n.text
}

func (n *node) index(key string) int {
	return slices.IndexFunc(n.members, func(m member) bool { return m.key == key })
}

// set puts the value under key, in place of what was there.
func (n *node) set(key string, v *node) {
	if i := n.index(key); i >= 0 {
		n.members[i].value = v
		return
	}
	n.members = append(n.members, member{key, v.offset, v})
}

// take removes a member and returns its value, or nil.
func (n *node) take(key string) *node {
	if n == nil {
		return nil
	}
	i := n.index(key)
	if i < 0 {
		return nil
	}
	v := n.members[i].value
	n.members = slices.Delete(n.members, i, i+1)
	return v
}

// drop removes a value from below n, and reports whether it was there.
func (n *node) drop(bad *node) bool {
	if i := slices.IndexFunc(n.members, func(m member) bool { return m.value == bad }); i >= 0 {
		n.members = slices.Delete(n.members, i, i+1)
		return true
	}
	if i := slices.Index(n.items, bad); i >= 0 {
		n.items = slices.Delete(n.items, i, i+1)
		return true
	}
	return slices.ContainsFunc(n.members, func(m member) bool { return m.value.drop(bad) }) ||
		slices.ContainsFunc(n.items, func(item *node) bool { return item.drop(bad) })
}

// at follows a JSON pointer as far as it leads and returns the last node on the way and the dotted path to it.
func (n *node) at(p jsontext.Pointer) (*node, string) {
	var path []string
	for token := range p.Tokens() {
		next := n.child(token)
		if next == nil {
			break
		}
		n, path = next, append(path, token)
	}
	return n, strings.Join(path, ".")
}

// child is the member of that name, or the item of that number; nil if there is none.
func (n *node) child(name string) *node {
	if i, err := strconv.Atoi(name); err == nil && n.kind == '[' && i < len(n.items) {
		return n.items[i]
	}
	return n.get(name)
}

func (n *node) place() Place { return n.doc.place(n.offset) }

// form says which texts encode writes.
type form int

const (
	substituted form = iota
	written          // as they stand in the document: references are not followed
)

// encode appends the value as JSON.
func (n *node) encode(b []byte, f form) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, m.key)
			b = append(b, ':')
			b = m.value.encode(b, f)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.encode(b, f)
		}
		return append(b, ']')
	case '"':
		if f == written {
			return append(b, n.raw...)
		}
		return quote(b, n.text)
	default:
		return append(b, n.raw...)
	}
}

// quote appends s as a JSON string; s is valid UTF-8, or becomes so.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD")) // fails for invalid UTF-8 only
	return b
}

// kindName says what the value is, for messages.
func (n *node) kindName() string { return option.KindName(n.kind) }

// said is the value for messages about keys that hold no secrets: scalars as they stand in the document, cut short.
func (n *node) said() string {
	switch n.kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, n.raw)
		if err != nil {
			return n.kindName()
		}
		if r := []rune(string(text)); len(r) > maxSaid {
			text = []byte(string(r[:maxSaid-1]) + "…")
		}
		return string(quote(nil, string(text)))
	case '{', '[':
		return n.kindName()
	default:
		return string(n.raw[:min(len(n.raw), maxSaid)])
	}
}

const maxSaid = 40 // characters

// merge lays high over low: objects member by member, everything else in whole (spec/v1 §35.2).
func merge(low, high *node) *node {
	switch {
	case low == nil:
		return high
	case low.kind == '{' && high.kind == '{':
		out := *high
		out.members = slices.Clone(low.members)
		for _, m := range high.members {
			if i := out.index(m.key); i >= 0 {
				out.members[i].value = merge(out.members[i].value, m.value)
			} else {
				out.members = append(out.members, m)
			}
		}
		return &out
	default:
		out := *high
		out.below = low
		return &out
	}
}

// union returns the items of both lists, each once, where it stood first and as it is said last (spec/v1 §35.2:
// instructions and plugins). A list stands for its first item: a plugin with its options.
func union(low, high *node) *node {
	switch {
	case high == nil:
		return low
	case low == nil || low.kind != '[' || high.kind != '[':
		return high
	}
	out := *high
	out.items = slices.Clone(low.items)
	for _, item := range high.items {
		if i := slices.IndexFunc(out.items, func(o *node) bool { return o.identity() == item.identity() }); i >= 0 {
			out.items[i] = item
		} else {
			out.items = append(out.items, item)
		}
	}
	return &out
}

func (n *node) identity() string {
	if n.kind == '[' && len(n.items) > 0 {
		return n.items[0].text
	}
	return n.text
}
