// Package document reads the documents of which a configuration is made, files and variables, as trees of JSON values
// with positions. Every spelling of a key becomes the one that the settings have.
//
// Errors have a position and contain no values of the document but those of keys that cannot be secrets.
package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Layer is the origin of a document. It decides which keys the document may set. Layers are ordered: a key that one
// layer may set, every earlier layer may set too.
type Layer int

// The origins of documents.
const (
	LayerDefault Layer = iota
	LayerUser
	LayerTrusted // a trusted project's: all but the user's own keys
	LayerProject // an untrusted project's: inert keys only
)

// Document is one file or variable of configuration.
type Document struct {
	Name    string // the path, or the variable's name
	Dir     string // base of relative paths in it
	Layer   Layer
	Wrap    string  // the key whose value the text is; "" if the text is the whole object
	Part    string  // agent, mode or command if the document is Markdown that defines one; "" for JSON
	Entry   string  // the name of that agent, mode or command: the file's, unless its field name has another
	Managed bool    // from an administrator
	Foreign bool    // a file of OpenCode: its versions are not those of cairn's files
	Current bool    // made by this cairn: of the current version without saying so
	Remote  *Remote // from an organisation: the configuration is the member config
	Text    []byte
	Limit   int // of Text in bytes; 0 is MaxSize
	Root    *Node

	Duplicates []Duplicate // values that another value of the document replaced
}

// Duplicate is a value that another one of the same key replaced.
type Duplicate struct {
	Node *Node
	Err  *Error // about the key
}

// IsProject reports whether the document is a project's file.
func (d *Document) IsProject() bool { return d.Layer >= LayerTrusted }

// FindPosition returns line and column of a byte offset.
func (d *Document) FindPosition(offset int) Position {
	if d.Layer == LayerDefault {
		return Position{File: d.Name}
	}
	before := d.Text[:min(max(offset, 0), len(d.Text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Position{d.Name, line, column}
}

// NewError returns an error about the value of the key at a byte offset.
func (d *Document) NewError(offset int, key, format string, args ...any) *Error {
	return &Error{d.FindPosition(offset), key, fmt.Sprintf(format, args...)}
}

// UntrustedReason completes a warning about a key that needs trust.
func (d *Document) UntrustedReason() string {
	if d.Remote != nil {
		return "has no effect until it is trusted: see cairn auth login " + d.Remote.Address
	}
	return "has no effect until the project is trusted: see cairn trust"
}

// Node is a JSON value with its position in a document. Nodes of a document may be changed until the document is
// merged; merging creates new nodes and leaves those of documents unchanged.
type Node struct {
	Kind    jsontext.Kind
	Raw     jsontext.Value // of scalars, as written
	Text    string         // of strings, after substitution
	Members []Member       // of objects, in order
	Items   []*Node        // of arrays

	Doc    *Document
	Offset int
	Below  *Node // the value of a lower layer that this one replaced
}

// Member is a member of an object.
type Member struct {
	Key    string
	Offset int
	Value  *Node
}

// Get returns the member's value, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	if i := n.index(key); i >= 0 {
		return n.Members[i].Value
	}
	return nil
}

// AllMembers returns the members of an object; nil for other values.
func (n *Node) AllMembers() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// TextValue returns the text of a string; "" for other values.
func (n *Node) TextValue() string {
	if n == nil {
		return ""
	}
	return n.Text
}

func (n *Node) index(key string) int {
	return slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == key })
}

// Set stores the value under key and replaces an existing one.
func (n *Node) Set(key string, v *Node) {
	if i := n.index(key); i >= 0 {
		n.Members[i].Value = v
		return
	}
	n.Members = append(n.Members, Member{key, v.Offset, v})
}

// RemoveMember removes a member and returns its value, or nil.
func (n *Node) RemoveMember(key string) *Node {
	if n == nil {
		return nil
	}
	i := n.index(key)
	if i < 0 {
		return nil
	}
	v := n.Members[i].Value
	n.Members = slices.Delete(n.Members, i, i+1)
	return v
}

// RemoveNode removes a value from below n and reports whether it was found.
func (n *Node) RemoveNode(bad *Node) bool {
	if i := slices.IndexFunc(n.Members, func(m Member) bool { return m.Value == bad }); i >= 0 {
		n.Members = slices.Delete(n.Members, i, i+1)
		return true
	}
	if i := slices.Index(n.Items, bad); i >= 0 {
		n.Items = slices.Delete(n.Items, i, i+1)
		return true
	}
	return slices.ContainsFunc(n.Members, func(m Member) bool { return m.Value.RemoveNode(bad) }) ||
		slices.ContainsFunc(n.Items, func(item *Node) bool { return item.RemoveNode(bad) })
}

// FollowPointer follows a JSON pointer as far as it leads and returns the last node reached and the dotted path to it.
func (n *Node) FollowPointer(p jsontext.Pointer) (*Node, string) {
	var path []string
	for token := range p.Tokens() {
		next := n.FindChild(token)
		if next == nil {
			break
		}
		n, path = next, append(path, token)
	}
	return n, strings.Join(path, ".")
}

// FindChild returns the member of that name or the item of that index, or nil.
func (n *Node) FindChild(name string) *Node {
	if i, err := strconv.Atoi(name); err == nil && n.Kind == '[' && i < len(n.Items) {
		return n.Items[i]
	}
	return n.Get(name)
}

// FindPosition returns the position of the value.
func (n *Node) FindPosition() Position { return n.Doc.FindPosition(n.Offset) }

// wrapNode returns {key: v} with the position of at.
func (d *Document) wrapNode(at *Node, key string, v *Node) *Node {
	return &Node{Kind: '{', Doc: d, Offset: at.Offset, Members: []Member{{key, at.Offset, v}}}
}

// JoinKey returns the dotted key of a member of the value at the path.
func JoinKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
