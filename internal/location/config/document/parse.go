package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

const (
	// MaxSize is the maximum size of a document in bytes.
	MaxSize  = 256 << 10
	maxDepth = 64
)

// Parse reads JSON with comments and trailing commas into d.Root, an object. Empty text is an empty object.
func (d *Document) Parse() error {
	// Replace a byte order mark by spaces, so that offsets stay.
	d.Text = bytes.Clone(d.Text)
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(d.Text, bom) {
		copy(d.Text, "   ")
	}
	// Bound the size and the depth before anything is decoded.
	if limit := cmp.Or(d.Limit, MaxSize); len(d.Text) > limit {
		return &Error{
			Position{File: d.Name}, "", fmt.Sprintf("the file is %d bytes long, the limit is %d", len(d.Text), limit),
		}
	}
	if err := d.checkDepth(); err != nil {
		return err
	}
	// Markdown has a parser of its own, and a blank file is an empty object.
	if d.Part != "" {
		return d.parseMarkdown()
	}
	if d.IsBlank() {
		d.Root = &Node{Kind: '{', Doc: d}
		return nil
	}
	// Decode one value and nothing after it.
	plain, err := hujson.Standardize(bytes.Clone(d.Text)) // comments become spaces: offsets stay
	if err != nil {
		return d.syntaxError(err)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(plain), jsontext.AllowDuplicateNames(true))
	r := reader{doc: d, text: plain, dec: dec}
	if d.Root, err = r.readValue(""); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return d.NewError(int(r.dec.InputOffset()), "", "unexpected text after the end of the configuration")
	}
	// A document for one key is put below that key.
	if d.Wrap != "" {
		d.Root = d.wrapNode(d.Root, d.Wrap, d.Root)
	}
	if d.Root.Kind != '{' {
		return d.NewError(d.Root.Offset, "", "want an object in braces, got %s", d.Root.DescribeKind())
	}
	// A remote document has its configuration in the member config.
	if d.Remote != nil {
		switch inner := d.Root.Get("config"); {
		case inner != nil && inner.Kind == '{':
			d.Root = inner
		case !d.Remote.Further:
			d.Root = &Node{Kind: '{', Doc: d}
		}
	}
	return nil
}

// IsBlank reports whether the text is only white space and comments.
func (d *Document) IsBlank() bool {
	for i := 0; i < len(d.Text); i++ {
		switch c := d.Text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '/' && i+1 < len(d.Text) && d.Text[i+1] == '/':
			i = skipComment(d.Text, i)
		default:
			return false
		}
	}
	return true
}

// syntaxError converts an error of the JSONC parser, whose text begins with its own position.
func (d *Document) syntaxError(err error) error {
	var line, column int
	var rest string
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
		_, rest, _ = strings.Cut(err.Error(), ": ")
		_, rest, _ = strings.Cut(rest, ": ")
	}
	if line == 0 {
		return &Error{Position{File: d.Name}, "", "invalid JSON (comments and trailing commas are allowed)"}
	}
	lines := bytes.SplitAfter(d.Text, []byte("\n"))
	if line <= len(lines) { // columns in characters, not bytes
		column = utf8.RuneCount(lines[line-1][:min(column-1, len(lines[line-1]))]) + 1
	}
	return &Error{
		Position{d.Name, line, column},
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
func (d *Document) checkDepth() error {
	depth, inString := 0, false
	for i := 0; i < len(d.Text); i++ {
		c := d.Text[i]
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '/' && i+1 < len(d.Text) && (d.Text[i+1] == '/' || d.Text[i+1] == '*'):
			i = skipComment(d.Text, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return d.NewError(i, "", "nested deeper than %d levels", maxDepth)
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
	doc  *Document
	text []byte
	dec  *jsontext.Decoder
}

// readValue reads the next value; path is the dotted way to it.
func (r *reader) readValue(path string) (*Node, error) {
	n := &Node{Doc: r.doc, Offset: r.nextOffset()}
	switch n.Kind = r.dec.PeekKind(); n.Kind {
	case '{':
		return n, r.readObject(n, path)
	case '[':
		return n, r.readArray(n, path)
	default:
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, r.wrapError(err, path)
		}
		n.Raw = bytes.Clone(raw)
		if n.Kind == '"' {
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, r.wrapError(err, path)
			}
			n.Text = string(text)
		}
		return n, nil
	}
}

func (r *reader) readObject(n *Node, path string) error {
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
		v, err := r.readValue(JoinKey(path, key))
		if err != nil {
			return err
		}
		if n.Get(key) != nil { // as in OpenCode, the last value counts
			first := n.RemoveMember(key)
			r.doc.Duplicates = append(r.doc.Duplicates, Duplicate{first, r.doc.NewError(at, JoinKey(path, key),
				"is defined twice in one object; the last value counts")})
		}
		n.Members = append(n.Members, Member{key, at, v})
	}
	_, err := r.dec.ReadToken()
	return r.wrapError(err, path)
}

func (r *reader) readArray(n *Node, path string) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.wrapError(err, path)
	}
	for r.dec.PeekKind() != ']' {
		v, err := r.readValue(JoinKey(path, fmt.Sprint(len(n.Items))))
		if err != nil {
			return err
		}
		n.Items = append(n.Items, v)
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
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
	}
	return r.doc.NewError(offset, path, "%s", message)
}
