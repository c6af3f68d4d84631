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
	maxFile  = 256 << 10 // bytes of one file (spec/guarantees S18)
	maxDepth = 64
)

// scope says whose words a document holds.
type scope int

const (
	scopeDefault scope = iota
	scopeUser
	scopeProject // anybody's: inert keys only
	scopeTrusted // a project's, and trusted: all but what is the user's own
)

// document is one file or variable of configuration.
type document struct {
	name    string // the path, or the variable's name
	dir     string // what relative paths in it start from
	scope   scope
	wrap    string  // the key whose value the text is; "" when it is the whole object
	part    string  // agent, mode or command: the document is one of these, as Markdown; "" is JSON
	entry   string  // its name
	managed bool    // an administrator's
	remote  *Remote // an organisation's: the text is a document with a member config
	text    []byte
	root    *node
}

// ofProject reports whether a project's files hold the document.
func (d *document) ofProject() bool { return d.scope == scopeProject || d.scope == scopeTrusted }

// place finds line and column of a byte.
func (d *document) place(offset int) Place {
	if d.scope == scopeDefault {
		return Place{File: d.name}
	}
	before := d.text[:min(max(offset, 0), len(d.text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Place{d.name, line, column}
}

func (d *document) errorf(offset int, key, format string, args ...any) *Error {
	return &Error{d.place(offset), key, fmt.Sprintf(format, args...)}
}

// parse reads JSON with comments and trailing commas into d.root, an object. Empty text is an empty object.
func (d *document) parse() error {
	d.text = bytes.Clone(d.text)
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(d.text, bom) {
		copy(d.text, "   ")
	}
	if len(d.text) > maxFile {
		return &Error{Place{File: d.name}, "", fmt.Sprintf("the file is %d bytes long, the limit is %d", len(d.text), maxFile)}
	}
	if err := d.tooDeep(); err != nil {
		return err
	}
	if d.part != "" {
		return d.markdown()
	}
	if d.blank() {
		d.root = &node{kind: '{', doc: d}
		return nil
	}
	plain, err := hujson.Standardize(bytes.Clone(d.text)) // comments become spaces: offsets stay
	if err != nil {
		return d.syntax(err)
	}
	r := reader{doc: d, text: plain, dec: jsontext.NewDecoder(bytes.NewReader(plain))}
	if d.root, err = r.value(""); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return d.errorf(int(r.dec.InputOffset()), "", "something follows the end of the configuration")
	}
	if d.wrap != "" {
		d.root = d.object(d.root, d.wrap, d.root)
	}
	if d.root.kind != '{' {
		return d.errorf(d.root.offset, "", "want an object in braces, got %s", d.root.kindName())
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

// blank reports whether there is nothing but space and comments.
func (d *document) blank() bool {
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

// syntax words an error of the JSONC parser, which begins with its own position.
func (d *document) syntax(err error) error {
	var line, column int
	var rest string
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
		_, rest, _ = strings.Cut(err.Error(), ": ")
		_, rest, _ = strings.Cut(rest, ": ")
	}
	if line == 0 {
		return &Error{Place{File: d.name}, "", "it is not JSON (comments and trailing commas are fine)"}
	}
	lines := bytes.SplitAfter(d.text, []byte("\n"))
	if line <= len(lines) { // columns in characters, not bytes
		column = utf8.RuneCount(lines[line-1][:min(column-1, len(lines[line-1]))]) + 1
	}
	return &Error{Place{d.name, line, column}, "", "it is not JSON (comments and trailing commas are fine): " + clean(rest)}
}

// clean keeps parser words short and free of what they may quote from the file.
func clean(s string) string {
	if strings.HasPrefix(s, "invalid literal") {
		return "a value that is neither text in quotes, a number, true, false nor null"
	}
	if strings.Contains(s, "EOF") {
		return "it ends too early"
	}
	return s
}

// tooDeep counts open brackets outside of strings and comments, before a recursive parser sees them.
func (d *document) tooDeep() error {
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
				return d.errorf(i, "", "nested deeper than %d levels", maxDepth)
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

// value reads the next value; path is the dotted way to it.
func (r *reader) value(path string) (*node, error) {
	n := &node{doc: r.doc, offset: r.start()}
	switch n.kind = r.dec.PeekKind(); n.kind {
	case '{':
		return n, r.object(n, path)
	case '[':
		return n, r.array(n, path)
	default:
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, r.fail(err, path)
		}
		n.raw = bytes.Clone(raw)
		if n.kind == '"' {
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, r.fail(err, path)
			}
			n.text = string(text)
		}
		return n, nil
	}
}

func (r *reader) object(n *node, path string) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.fail(err, path)
	}
	for r.dec.PeekKind() != '}' {
		at := r.start()
		tok, err := r.dec.ReadToken()
		if err != nil {
			return r.fail(err, path)
		}
		key := tok.String()
		v, err := r.value(join(path, key))
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, at, v})
	}
	_, err := r.dec.ReadToken()
	return r.fail(err, path)
}

func (r *reader) array(n *node, path string) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.fail(err, path)
	}
	for r.dec.PeekKind() != ']' {
		v, err := r.value(join(path, fmt.Sprint(len(n.items))))
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, err := r.dec.ReadToken()
	return r.fail(err, path)
}

// start is the offset of the next token.
func (r *reader) start() int {
	i := int(r.dec.InputOffset())
	for i < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[i]) >= 0 {
		i++
	}
	return i
}

func (r *reader) fail(err error, path string) error {
	if err == nil {
		return nil
	}
	offset := int(r.dec.InputOffset())
	message := "it is not JSON (comments and trailing commas are fine)"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = int(e.ByteOffset)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return r.doc.errorf(offset, join(path, e.JSONPointer.LastToken()), "is there twice in one object")
		}
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
	}
	return r.doc.errorf(offset, path, "%s", message)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
