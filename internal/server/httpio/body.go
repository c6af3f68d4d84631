package httpio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// MaxDepth is how deep a body's JSON may nest (spec/guarantees G23).
const MaxDepth = 64

// CheckContentType refuses a body that is not declared as JSON: a page of another site can send nothing else unasked.
func CheckContentType(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" {
		return nil
	}
	return UnsupportedMedia(r.Header.Get("Content-Type"))
}

// Decode reads the body into a T. Unknown members are ignored, as OpenCode does; duplicate ones, and those
// that differ from a known one in case only, are refused.
func Decode[T any](r *http.Request) (T, error) {
	var out T
	body, err := readBody(r)
	if err != nil {
		return out, bodyReadError(err)
	}
	if body, err = sanitize(body); err != nil {
		return out, err
	}
	if err := checkDepth(body); err != nil {
		return out, err
	}
	if kind := reflect.TypeFor[T]().Kind(); (kind == reflect.Struct || kind == reflect.Map) && jsontext.Value(body).Kind() == 'n' {
		return out, Invalid("body", "", "the body must be an object, not null")
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, syntaxError(err)
	}
	if field, meant := findMisspelled(reflect.TypeFor[T](), body); field != "" {
		return out, Invalid("body", field, "%s is unknown; upper and lower case count: did you mean %s?", field, meant)
	}
	return out, nil
}

// DecodeOptional reads a body that may be missing or empty: OpenCode's SDK sends none, and no content type, where nothing is
// said.
func DecodeOptional[T any](r *http.Request) (out T, err error) {
	if r.ContentLength == 0 && (len(r.Header.Values("Content-Type")) == 0 || CheckContentType(r) == nil) {
		return out, nil
	}
	if err := CheckContentType(r); err != nil {
		return out, err
	}
	return Decode[T](r)
}

// readBody reads a body of known length into one piece of memory.
func readBody(r *http.Request) ([]byte, error) {
	const most = 64 << 20 // what a length may make us reserve; the stages before allow less
	if r.ContentLength <= 0 || r.ContentLength > most {
		return io.ReadAll(r.Body)
	}
	b := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, b)
	return b, err
}

func bodyReadError(err error) error {
	if said := BodyError(err); said != nil {
		return said
	}
	return Invalid("body", "", "the body could not be read to its end")
}

// BodyError returns why the stages let no more of a body be read: it is too large, or there is no room for it; nil where
// the error is another one.
func BodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return session.Errorf(session.CodeTooLarge, "the body is larger than the limit of %d bytes", tooLarge.Limit)
	}
	if e, ok := errors.AsType[*session.Error](err); ok { // of a stage before
		return e
	}
	return nil
}

// sanitize replaces what is no text, also half of a surrogate pair as JavaScript cuts strings, so that it is never
// stored.
func sanitize(body []byte) ([]byte, error) {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return body, nil
	}
	v := jsontext.Value(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err := v.Format(jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, syntaxError(err)
	}
	return v, nil
}

func checkDepth(body []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return Invalid("body", "", "the body nests deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// syntaxError tells what is wrong where, without the words of the Go types.
func syntaxError(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		field := fieldPath(e.JSONPointer)
		what := "has the wrong type"
		if want := typeName(e.GoType); want != "" && e.JSONKind != 0 {
			what = "must be " + want + ", not " + kindName(e.JSONKind)
		}
		if e.Err != nil && errors.Is(e.Err, jsontext.ErrDuplicateName) {
			what = "appears twice"
		}
		return Invalid("body", field, "%s %s", fieldOrBody(field), what)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field := fieldPath(e.JSONPointer)
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return Invalid("body", field, "%s appears twice", fieldOrBody(field))
		}
		return Invalid("body", field, "the body is not valid JSON at byte %d", e.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Invalid("body", "", "the body is empty or ends too early; it must be a JSON object")
	}
	return Invalid("body", "", "the body is not what this operation expects")
}

// fieldPath names a place in the body as session.Error does: prompt.files[0].uri.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for t := range p.Tokens() {
		if _, err := strconv.ParseUint(t, 10, 32); err == nil {
			fmt.Fprintf(&b, "[%s]", t)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(Clip(t, 60))
	}
	return Clip(b.String(), 200)
}

func fieldOrBody(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// typeName says what JSON a Go type is read from, "" for types with a form of their own.
func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return ""
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	default:
		return "what it is"
	}
}
