package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

const (
	maxFile  = 256 << 10 // bytes of one file
	maxDepth = 64
)

// scope is the origin of a document, which decides what it may set.
type scope int

const (
	scopeDefault scope = iota
	scopeUser
	scopeProject // an untrusted project's: inert keys only
	scopeTrusted // a trusted project's: all but the user's own keys
)

// document is one file or variable of configuration.
type document struct {
	name    string // the path, or the variable's name
	dir     string // base of relative paths in it
	scope   scope
	wrap    string  // the key whose value the text is; "" if the text is the whole object
	part    string  // agent, mode or command if the document is Markdown that defines one; "" for JSON
	entry   string  // the name of that agent, mode or command
	managed bool    // from an administrator
	remote  *Remote // from an organisation: the configuration is the member config
	text    []byte
	root    *node
}

// isProject reports whether the document is a project's file.
func (d *document) isProject() bool { return d.scope == scopeProject || d.scope == scopeTrusted }

// position returns line and column of a byte offset.
func (d *document) position(offset int) Position {
	if d.scope == scopeDefault {
		return Position{File: d.name}
	}
	before := d.text[:min(max(offset, 0), len(d.text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Position{d.name, line, column}
}

func (d *document) newError(offset int, key, format string, args ...any) *Error {
	return &Error{d.position(offset), key, fmt.Sprintf(format, args...)}
}

// parse reads JSON with comments and trailing commas into d.root, an object. Empty text is an empty object.
func (d *document) parse() error {
	d.text = bytes.Clone(d.text)
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(d.text, bom) {
		copy(d.text, "   ")
	}
	if len(d.text) > maxFile {
		return &Error{
			Position{File: d.name},
			"",
			fmt.Sprintf("the file is %d bytes long, the limit is %d", len(d.text), maxFile),
		}
	}
	if err := d.checkDepth(); err != nil {
		return err
	}
	if d.part != "" {
		return d.parseMarkdown()
	}
	if d.isBlank() {
		d.root = &node{kind: '{', doc: d}
		return nil
	}
	plain, err := hujson.Standardize(bytes.Clone(d.text)) // comments become spaces: offsets stay
	if err != nil {
		return d.syntaxError(err)
	}
	r := reader{doc: d, text: plain, dec: jsontext.NewDecoder(bytes.NewReader(plain))}
	if d.root, err = r.readValue(""); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return d.newError(int(r.dec.InputOffset()), "", "unexpected text after the end of the configuration")
	}
	if d.wrap != "" {
		d.root = d.wrapNode(d.root, d.wrap, d.root)
	}
	if d.root.kind != '{' {
		return d.newError(d.root.offset, "", "want an object in braces, got %s", d.root.kindName())
	}
	if d.remote != nil {
		switch inner := d.root.get("config"); {
		case inner != nil && inner.kind == '{':
			d.root = inner
		case !d.remote.Further:
			d.root = &node{kind: '{', doc: d}
		}
	}
	return nil
}

// isBlank reports whether the text is only white space and comments.
func (d *document) isBlank() bool {
	for i := 0; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '/' && i+1 < len(d.text) && d.text[i+1] == '/':
			i = skipComment(d.text, i)
		default:
			return false
		}
	}
	return true
}

// syntaxError converts an error of the JSONC parser, whose text begins with its own position.
func (d *document) syntaxError(err error) error {
	var line, column int
	var rest string
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
		_, rest, _ = strings.Cut(err.Error(), ": ")
		_, rest, _ = strings.Cut(rest, ": ")
	}
	if line == 0 {
		return &Error{Position{File: d.name}, "", "invalid JSON (comments and trailing commas are allowed)"}
	}
	lines := bytes.SplitAfter(d.text, []byte("\n"))
	if line <= len(lines) { // columns in characters, not bytes
		column = utf8.RuneCount(lines[line-1][:min(column-1, len(lines[line-1]))]) + 1
	}
	return &Error{
		Position{d.name, line, column},
		"",
		"invalid JSON (comments and trailing commas are allowed): " + shortenSyntaxError(rest),
	}
}

// shortenSyntaxError removes text that the parser quotes from the file, which may be a secret.
func shortenSyntaxError(s string) string {
	if strings.HasPrefix(s, "invalid literal") {
		return "a value must be a string, a number, true, false or null"
	}
	if strings.Contains(s, "EOF") {
		return "unexpected end of file"
	}
	return s
}

// checkDepth limits the nesting of brackets outside of strings and comments, before a recursive parser sees them.
func (d *document) checkDepth() error {
	depth, inString := 0, false
	for i := 0; i < len(d.text); i++ {
		c := d.text[i]
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '/' && i+1 < len(d.text) && (d.text[i+1] == '/' || d.text[i+1] == '*'):
			i = skipComment(d.text, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return d.newError(i, "", "nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// skipComment returns the index of the last byte of the comment that begins at i.
func skipComment(text []byte, i int) int {
	closing := "\n"
	if text[i+1] == '*' {
		closing = "*/"
	}
	end := bytes.Index(text[i+2:], []byte(closing))
	if end < 0 {
		return len(text)
	}
	return i + 2 + end + len(closing) - 1
}

// reader builds nodes from standard JSON.
type reader struct {
	doc  *document
	text []byte
	dec  *jsontext.Decoder
}

// readValue reads the next value; path is the dotted way to it.
func (r *reader) readValue(path string) (*node, error) {
	n := &node{doc: r.doc, offset: r.nextOffset()}
	switch n.kind = r.dec.PeekKind(); n.kind {
	case '{':
		return n, r.readObject(n, path)
	case '[':
		return n, r.readArray(n, path)
	default:
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, r.wrapError(err, path)
		}
		n.raw = bytes.Clone(raw)
		if n.kind == '"' {
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, r.wrapError(err, path)
			}
			n.text = string(text)
		}
		return n, nil
	}
}

func (r *reader) readObject(n *node, path string) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.wrapError(err, path)
	}
	for r.dec.PeekKind() != '}' {
		at := r.nextOffset()
		tok, err := r.dec.ReadToken()
		if err != nil {
			return r.wrapError(err, path)
		}
		key := tok.String()
		v, err := r.readValue(join(path, key))
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, at, v})
	}
	_, err := r.dec.ReadToken()
	return r.wrapError(err, path)
}

func (r *reader) readArray(n *node, path string) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.wrapError(err, path)
	}
	for r.dec.PeekKind() != ']' {
		v, err := r.readValue(join(path, fmt.Sprint(len(n.items))))
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, err := r.dec.ReadToken()
	return r.wrapError(err, path)
}

// nextOffset is the offset of the next token.
func (r *reader) nextOffset() int {
	i := int(r.dec.InputOffset())
	for i < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[i]) >= 0 {
		i++
	}
	return i
}

func (r *reader) wrapError(err error, path string) error {
	if err == nil {
		return nil
	}
	offset := int(r.dec.InputOffset())
	message := "invalid JSON (comments and trailing commas are allowed)"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = int(e.ByteOffset)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return r.doc.newError(offset, join(path, e.JSONPointer.LastToken()), "is defined twice in one object")
		}
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
	}
	return r.doc.newError(offset, path, "%s", message)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
