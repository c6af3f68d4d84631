package transfer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// document is a file that is read several times, one message after the other.
type document struct {
	name string
	from io.ReadSeeker
}

// contents are the members of a document but for the messages, which are given away as they come.
type contents struct {
	info   jsontext.Value
	at     int64 // where info begins
	beside map[string]jsontext.Value
	listed bool // there is a list of messages
}

// read goes through the document. An error of message is one of the value that it was given.
func (d *document) read(message func(jsontext.Value) error) (*contents, error) {
	if _, err := d.from.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(d.from, jsontext.AllowInvalidUTF8(true))
	c := &contents{beside: map[string]jsontext.Value{}}
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, d.invalidAt(
			position{at: dec.InputOffset()},
			cmp.Or(err, errors.New("it must be an object with info and messages")),
		)
	}
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, d.invalidAt(position{at: dec.InputOffset()}, err)
		}
		if err := c.readMember(d, dec, t.String(), message); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, d.invalidAt(position{at: dec.InputOffset()}, err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, d.invalidAt(position{at: dec.InputOffset()}, errors.New("unexpected data after the document"))
	}
	return c, nil
}

func (c *contents) readMember(
	d *document,
	dec *jsontext.Decoder,
	name string,
	message func(jsontext.Value) error,
) error {
	if name == "messages" && dec.PeekKind() == '[' {
		c.listed = true
		return d.list(dec, message)
	}
	v, err := dec.ReadValue()
	at := dec.InputOffset() - int64(len(v))
	switch {
	case err != nil:
		return d.invalidAt(position{at: dec.InputOffset(), in: name}, err)
	case name == "messages":
		return d.invalidAt(position{at: at, in: name}, errors.New("it must be a list"))
	case name == "info":
		c.info, c.at = repairText(v), at
	default:
		c.beside[name] = repairText(v)
	}
	return nil
}

func (d *document) list(dec *jsontext.Decoder, message func(jsontext.Value) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return d.invalidAt(position{at: dec.InputOffset(), in: "messages"}, err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		in := fmt.Sprintf("messages[%d]", i)
		v, err := dec.ReadValue()
		if err != nil {
			return d.invalidAt(position{at: dec.InputOffset(), in: in}, err)
		}
		if err := message(repairText(v)); err != nil {
			return d.invalidAt(position{at: dec.InputOffset() - int64(len(v)), in: in}, err)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// repairText returns a copy of the value in which halves of surrogate pairs, as JavaScript cuts strings, are replaced.
func repairText(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if bytes.Contains(v, []byte(`\ud`)) || bytes.Contains(v, []byte(`\uD`)) ||
		strings.ToValidUTF8(string(v), "") != string(v) {
		_ = v.Format(jsontext.AllowInvalidUTF8(true)) // it was read as JSON before
	}
	return v
}

// position is the position of a value in the document.
type position struct {
	at int64
	in string // its name
}

// invalidAt returns a FormatError with the field and line of the invalid value.
func (d *document) invalidAt(p position, err error) error {
	if u, ok := errors.AsType[*sendError](err); ok {
		return u.err
	}
	m := &FormatError{Name: d.name, Field: p.in, What: err.Error()}
	at, ended := p.at, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		m.Field, m.What = join(p.in, fieldPath(e.JSONPointer)), "it is no "+kindOf(e)
		at = d.find(p.at, e.JSONPointer)
	} else if e, ok := errors.AsType[*session.Error](err); ok {
		m.Field, m.What = join(p.in, e.Field), e.Message
		at = d.find(p.at, jsonPointer(e.Field))
	} else if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, m.What = e.ByteOffset, "this is not valid JSON"
	}
	if ended {
		m.What = "the document ends too early"
	}
	m.Line = d.lineOf(at)
	return m
}

// find returns the offset of the member that p names, or of its nearest existing parent.
func (d *document) find(at int64, p jsontext.Pointer) int64 {
	if _, err := d.from.Seek(at, io.SeekStart); err != nil || p == "" {
		return at
	}
	dec := jsontext.NewDecoder(d.from, jsontext.AllowInvalidUTF8(true))
	for best := at; ; {
		if _, err := dec.ReadToken(); err != nil || dec.StackDepth() == 0 {
			return best
		}
		switch here := dec.StackPointer(); {
		case here == p:
			return at + dec.InputOffset()
		case here.Contains(p):
			best = at + dec.InputOffset()
		}
	}
}

func kindOf(e *json.SemanticError) string {
	if e.GoType == nil {
		return "value that is known here"
	}
	switch e.GoType.Kind().String() {
	case "string":
		return "text"
	case "struct", "map", "ptr":
		return "object"
	case "slice":
		return "list"
	case "bool":
		return "boolean"
	default:
		return "number"
	}
}

// fieldPath formats a pointer as a field, as in info.parts[3].time.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for name := range p.Tokens() {
		if name != "" && strings.Trim(name, "0123456789") == "" {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

// jsonPointer returns the pointer of a field.
func jsonPointer(field string) jsontext.Pointer {
	if field == "" {
		return ""
	}
	return jsontext.Pointer("/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(field))
}

func join(in, of string) string {
	switch {
	case of == "":
		return in
	case in == "":
		return of
	default:
		return in + "." + of
	}
}

// lineOf returns the line that contains the byte, 0 if the document cannot be read again.
func (d *document) lineOf(at int64) int {
	if _, err := d.from.Seek(0, io.SeekStart); err != nil {
		return 0
	}
	n, buf := 1, make([]byte, 64<<10)
	for at > 0 {
		got, err := d.from.Read(buf[:min(int64(len(buf)), at)])
		n += bytes.Count(buf[:got], []byte{'\n'})
		at -= int64(got)
		if err != nil {
			break
		}
	}
	return n
}
