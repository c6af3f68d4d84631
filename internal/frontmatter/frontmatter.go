// Package frontmatter reads Markdown files that begin with YAML fields between two lines of ---: agents, commands,
// skills. Files are untrusted: sizes are limited, aliases and tags are refused. The last value of a repeated key
// counts. Values keep their line.
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Limits of frontmatter.
const (
	maxFields = 64 << 10 // bytes
	maxDepth  = 32
)

// Value is a value of the frontmatter. Line and Column count from 1 in the whole file, columns in characters.
type Value struct {
	Kind         jsontext.Kind  // JSON kind
	JSON         jsontext.Value // of scalars
	Text         string         // of strings
	Members      []Member       // of objects, in order
	Repeated     []Member       // of objects: values that do not count, each at the place of the key that replaces it
	Items        []Value        // of lists
	Line, Column int
}

// Member is one key of an object.
type Member struct {
	Key          string
	Value        Value
	Line, Column int
}

// Get returns the value of a key.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.Members {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Error is a problem of the frontmatter; Line is 0 if it is not known.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// File is a parsed file.
type File struct {
	Fields   Value  // an object, empty without frontmatter
	Body     string // text after the frontmatter, trimmed
	BodyLine int    // line on which the body begins
}

// Read splits a file and parses its frontmatter. If that is not valid YAML, the text after each key is read as plain
// text, because people write colons there without quotes. An error is an *Error; the body is returned with it.
func Read(text []byte) (File, error) {
	// Split the file; the body keeps the number of its first line.
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	front, body, found := split(text)
	f := File{Fields: Value{Kind: '{', Line: 1, Column: 1}, Body: strings.TrimSpace(string(body)), BodyLine: 1}
	if skipped := len(text) - len(bytes.TrimLeft(body, " \t\r\n")); f.Body != "" {
		f.BodyLine += bytes.Count(text[:skipped], []byte("\n"))
	}
	if !found {
		return f, nil
	}
	// Parse the fields, with quotes added where YAML needs them.
	if len(front) > maxFields {
		return f, &Error{1, fmt.Sprintf("the frontmatter is longer than %d bytes", maxFields)}
	}
	var err error
	f.Fields, err = parseFields(front)
	if e, ok := errors.AsType[*Error](err); ok && e.Message == notYAML {
		if lenient, lerr := parseFields(quoteLines(front)); lerr == nil {
			return File{lenient, f.Body, f.BodyLine}, nil
		}
	}
	return f, err
}

// split returns the frontmatter between a first line of --- and the next one, and the text after it. It is not found
// without both lines.
func split(text []byte) (front, body []byte, found bool) {
	first, rest, ok := bytes.Cut(text, []byte("\n"))
	if !ok || strings.TrimRight(string(first), " \t\r") != "---" {
		return nil, text, false
	}
	for at := 0; at < len(rest); {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		next := at + len(line) + 1
		if strings.TrimRight(string(line), " \t\r") == "---" {
			return rest[:at], rest[min(next, len(rest)):], true
		}
		if !more {
			break
		}
		at = next
	}
	return nil, text, false
}

const notYAML = "it is not YAML"

var yamlLine = regexp.MustCompile(`line (\d+)`)

// parseFields parses frontmatter as YAML. The result is an object; frontmatter without a value is an empty one.
func parseFields(front []byte) (Value, error) {
	empty := Value{Kind: '{', Line: 2, Column: 1}
	var doc yaml.Node
	if err := yaml.Unmarshal(front, &doc); err != nil {
		e := &Error{Message: notYAML}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			_, _ = fmt.Sscan(m[1], &e.Line) // digits
			e.Line++
		}
		return empty, e
	}
	if len(doc.Content) == 0 {
		return empty, nil
	}
	v, err := parseValue(doc.Content[0], 0)
	switch {
	case err != nil:
		return empty, err
	case v.Kind == 'n':
		return empty, nil
	case v.Kind != '{':
		return empty, &Error{v.Line, notYAML}
	}
	return v, nil
}

// parseValue converts a YAML node and the nodes below it. Anchors, aliases and tags are errors.
func parseValue(n *yaml.Node, depth int) (Value, error) {
	v := Value{Line: n.Line + 1, Column: n.Column} // after the line of ---
	wrong := func(why string) (Value, error) { return v, &Error{v.Line, why} }
	switch {
	case depth > maxDepth:
		return wrong("it is nested too deeply")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return wrong("anchors and aliases are not supported")
	case n.Kind == yaml.MappingNode:
		v.Kind = '{'
		return v, parseObject(&v, n, depth)
	case n.Kind == yaml.SequenceNode:
		v.Kind = '['
		for _, c := range n.Content {
			item, err := parseValue(c, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	default:
		return v, parseScalar(&v, n)
	}
}

// parseObject fills in the members of the object v. The last value of a repeated key takes the place of the first one.
func parseObject(v *Value, n *yaml.Node, depth int) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return &Error{k.Line + 1, "a key is not text"}
		}
		m := Member{Key: k.Value, Line: k.Line + 1, Column: k.Column}
		var err error
		if m.Value, err = parseValue(n.Content[i+1], depth+1); err != nil {
			return err
		}
		if at, ok := seen[m.Key]; ok {
			v.Repeated = append(v.Repeated, Member{m.Key, v.Members[at].Value, m.Line, m.Column})
			v.Members[at] = m
			continue
		}
		seen[m.Key] = len(v.Members)
		v.Members = append(v.Members, m)
	}
	return nil
}

// parseScalar fills in the scalar v. Dates, and numbers that JSON does not have, are text.
func parseScalar(v *Value, n *yaml.Node) error {
	var plain any = n.Value
	switch n.Tag {
	case "!!bool", "!!int", "!!float", "!!null":
		if err := n.Decode(&plain); err != nil {
			return &Error{v.Line, notYAML}
		}
	case "!!str", "!!timestamp":
	default:
		return &Error{v.Line, "tags are not supported"}
	}
	raw, err := json.Marshal(plain, jsontext.AllowInvalidUTF8(true))
	if err != nil { // a number that JSON does not have, such as .nan
		raw, _ = jsontext.AppendQuote(nil, n.Value)
		plain = n.Value
	}
	v.JSON, v.Kind = raw, jsontext.Value(raw).Kind()
	if text, ok := plain.(string); ok {
		v.Text = text
	}
	return nil
}

// quoteLines quotes the text after the key on each unindented line that YAML would not read as plain text.
func quoteLines(front []byte) []byte {
	lines := strings.Split(string(front), "\n")
	for i, line := range lines {
		key, rest, ok := strings.Cut(line, ":")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" || strings.TrimSpace(key) != key || strings.ContainsAny(key, "\"'#[]{},&*! ") {
			continue
		}
		if strings.Contains(rest, ": ") || strings.HasSuffix(rest, ":") || strings.ContainsAny(rest[:1], "@`%&*!|>") ||
			strings.Contains(rest, " #") {
			lines[i] = key + ": '" + strings.ReplaceAll(rest, "'", "''") + "'"
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
