package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// node is a JSON value with its position in a document. Nodes of a document may be changed until the document is
// merged; merging creates new nodes and leaves those of documents unchanged.
type node struct {
	kind    jsontext.Kind
	raw     jsontext.Value // of scalars, as written
	text    string         // of strings, after substitution
	members []member       // of objects, in order
	items   []*node        // of arrays

	doc    *document
	offset int
	below  *node // the value of a lower layer that this one replaced
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

// allMembers returns the members of an object; nil for other values.
func (n *node) allMembers() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// textValue returns the text of a string; "" for other values.
func (n *node) textValue() string {
	if n == nil {
		return ""
	}
	return n.text
}

func (n *node) index(key string) int {
	return slices.IndexFunc(n.members, func(m member) bool { return m.key == key })
}

// set stores the value under key and replaces an existing one.
func (n *node) set(key string, v *node) {
	if i := n.index(key); i >= 0 {
		n.members[i].value = v
		return
	}
	n.members = append(n.members, member{key, v.offset, v})
}

// removeMember removes a member and returns its value, or nil.
func (n *node) removeMember(key string) *node {
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

// removeNode removes a value from below n and reports whether it was found.
func (n *node) removeNode(bad *node) bool {
	if i := slices.IndexFunc(n.members, func(m member) bool { return m.value == bad }); i >= 0 {
		n.members = slices.Delete(n.members, i, i+1)
		return true
	}
	if i := slices.Index(n.items, bad); i >= 0 {
		n.items = slices.Delete(n.items, i, i+1)
		return true
	}
	return slices.ContainsFunc(n.members, func(m member) bool { return m.value.removeNode(bad) }) ||
		slices.ContainsFunc(n.items, func(item *node) bool { return item.removeNode(bad) })
}

// followPointer follows a JSON pointer as far as it leads and returns the last node reached and the dotted path to it.
func (n *node) followPointer(p jsontext.Pointer) (*node, string) {
	var path []string
	for token := range p.Tokens() {
		next := n.childNamed(token)
		if next == nil {
			break
		}
		n, path = next, append(path, token)
	}
	return n, strings.Join(path, ".")
}

// childNamed returns the member of that name or the item of that index, or nil.
func (n *node) childNamed(name string) *node {
	if i, err := strconv.Atoi(name); err == nil && n.kind == '[' && i < len(n.items) {
		return n.items[i]
	}
	return n.get(name)
}

func (n *node) position() Position { return n.doc.position(n.offset) }

// encoding selects the texts that encode writes.
type encoding int

const (
	substituted encoding = iota
	asWritten            // as in the document: references are not expanded
)

// encode appends the value as JSON.
func (n *node) encode(b []byte, f encoding) []byte {
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
		if f == asWritten {
			return append(b, n.raw...)
		}
		return quote(b, n.text)
	default:
		return append(b, n.raw...)
	}
}

// quote appends s as a JSON string. Invalid UTF-8 is replaced.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD")) // fails for invalid UTF-8 only
	return b
}

// kindName names the kind of the value, for messages.
func (n *node) kindName() string { return option.DescribeKind(n.kind) }

// formatExcerpt returns the value for messages about keys that cannot be secrets: scalars as written, at most
// maxExcerpt characters.
func (n *node) formatExcerpt() string {
	switch n.kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, n.raw)
		if err != nil {
			return n.kindName()
		}
		if r := []rune(string(text)); len(r) > maxExcerpt {
			text = []byte(string(r[:maxExcerpt-1]) + "…")
		}
		return string(quote(nil, string(text)))
	case '{', '[':
		return n.kindName()
	default:
		return string(n.raw[:min(len(n.raw), maxExcerpt)])
	}
}

const maxExcerpt = 40 // characters

// mergeNodes merges high over low: objects member by member, other values as a whole.
func mergeNodes(low, high *node) *node {
	switch {
	case low == nil:
		return high
	case low.kind == '{' && high.kind == '{':
		out := *high
		out.members = slices.Clone(low.members)
		for _, m := range high.members {
			if i := out.index(m.key); i >= 0 {
				out.members[i].value = mergeNodes(out.members[i].value, m.value)
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

// mergeLists returns the items of both lists without duplicates: each at its first position with its last value. An
// item that is a list itself, a plugin with options, is identified by its first element.
func mergeLists(low, high *node) *node {
	switch {
	case high == nil:
		return low
	case low == nil || low.kind != '[' || high.kind != '[':
		return high
	}
	out := *high
	out.items = slices.Clone(low.items)
	for _, item := range high.items {
		if i := slices.IndexFunc(out.items, func(o *node) bool { return o.itemName() == item.itemName() }); i >= 0 {
			out.items[i] = item
		} else {
			out.items = append(out.items, item)
		}
	}
	return &out
}

func (n *node) itemName() string {
	if n.kind == '[' && len(n.items) > 0 {
		return n.items[0].text
	}
	return n.text
}
