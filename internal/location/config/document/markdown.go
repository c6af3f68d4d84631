package document

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/frontmatter"
)

// The parts of a configuration that can be Markdown files. A file's frontmatter has the fields of an agent or command;
// its body is the prompt or template.
const (
	PartAgent   = "agent"
	PartMode    = "mode" // the older form of a primary agent
	PartCommand = "command"
)

// parseMarkdown reads a Markdown file into d.Root, in the form that JSON would have.
func (d *Document) parseMarkdown() error {
	f, err := frontmatter.Read(d.Text)
	if e, ok := errors.AsType[*frontmatter.Error](err); ok {
		return &Error{Position{File: d.Name, Line: e.Line}, "", "invalid frontmatter: " + e.Message}
	}
	fields := d.fromYAML(f.Fields, "")
	if name := fields.RemoveMember("name"); strings.TrimSpace(name.TextValue()) != "" { // as in OpenCode
		d.Entry = strings.TrimSpace(name.Text)
	}
	if f.Body != "" {
		text := &Node{Kind: '"', Raw: AppendQuoted(nil, f.Body), Text: f.Body, Doc: d, Offset: d.offsetOf(f.BodyLine, 1)}
		if d.Part == PartCommand {
			fields.Set("template", text)
		} else {
			fields.Set("prompt", text)
		}
	}
	d.Root = d.wrapNode(fields, d.Part, d.wrapNode(fields, d.Entry, fields))
	return nil
}

// fromYAML returns the value at a path below the frontmatter as a node.
func (d *Document) fromYAML(v frontmatter.Value, path string) *Node {
	n := &Node{Kind: v.Kind, Raw: v.JSON, Text: v.Text, Doc: d, Offset: d.offsetOf(v.Line, v.Column)}
	for _, m := range v.Members {
		n.Members = append(n.Members, Member{m.Key, d.offsetOf(m.Line, m.Column), d.fromYAML(m.Value, JoinKey(path, m.Key))})
	}
	for _, m := range v.Repeated {
		at := JoinKey(path, m.Key)
		d.Duplicates = append(d.Duplicates, Duplicate{d.fromYAML(m.Value, at), d.NewError(d.offsetOf(m.Line, m.Column), at,
			"is defined twice in one object; the last value counts")})
	}
	for i, item := range v.Items {
		n.Items = append(n.Items, d.fromYAML(item, JoinKey(path, strconv.Itoa(i))))
	}
	return n
}

// offsetOf returns the byte offset of line and column.
func (d *Document) offsetOf(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(d.Text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for i := range string(d.Text[at:]) {
		if column--; column == 0 {
			return at + i
		}
	}
	return at
}
