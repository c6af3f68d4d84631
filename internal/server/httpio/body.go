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

// MaxDepth bounds the nesting of JSON in a body.
const MaxDepth = 64

// maxReserve bounds the memory that a declared length alone reserves. The stages in front of the operations allow less.
const maxReserve = 64 << 20

// CheckContentType refuses a body that is not declared as JSON. Pages of other sites can send anything else without a
// preflight request.
func CheckContentType(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" {
		return nil
	}
	return NewUnsupportedMedia(r.Header.Get("Content-Type"))
}

// DecodeBody reads the body into out, a pointer. It ignores unknown members, as OpenCode does, and refuses duplicate
// members, members that differ from a known one only in case, and what an Exact type refuses.
func DecodeBody(r *http.Request, out any) error {
	body, err := readBody(r)
	if err != nil {
		return bodyReadError(err)
	}
	if body, err = replaceInvalidText(body); err != nil {
		return err
	}
	if err := checkDepth(body); err != nil {
		return err
	}
	t := reflect.TypeOf(out).Elem()
	if (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && jsontext.Value(body).Kind() == 'n' {
		return NewInvalid("body", "", "the body must be an object, not null")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return decodeError(err)
	}
	if field, problem := findWrongMember(t, body); problem != "" {
		return NewInvalid("body", field, "%s %s", field, problem)
	}
	return nil
}

// DecodeOptionalBody is DecodeBody for a body that may be missing or empty. OpenCode's SDK sends neither a body nor a
// content type where it has nothing to say.
func DecodeOptionalBody(r *http.Request, out any) error {
	if r.ContentLength == 0 && (len(r.Header.Values("Content-Type")) == 0 || CheckContentType(r) == nil) {
		return nil
	}
	if err := CheckContentType(r); err != nil {
		return err
	}
	return DecodeBody(r, out)
}

// readBody reads a body of known length into one allocation.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 || r.ContentLength > maxReserve {
		return io.ReadAll(r.Body)
	}
	b := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, b)
	return b, err
}

func bodyReadError(err error) error {
	if refused := BodyError(err); refused != nil {
		return refused
	}
	return NewInvalid("body", "", "the body could not be read to its end")
}

// BodyError returns why the stages in front of the operations stopped a body from being read: it is too large, or there
// is no room for it. It returns nil if err has another reason.
func BodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return session.Errorf(session.CodeTooLarge, "the body is larger than the limit of %d bytes", tooLarge.Limit)
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e
	}
	return nil
}

// replaceInvalidText replaces invalid UTF-8 and unpaired surrogates, which JavaScript produces when it cuts strings, so
// that they are never stored.
func replaceInvalidText(body []byte) ([]byte, error) {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return body, nil
	}
	v := jsontext.Value(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err := v.Format(jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, decodeError(err)
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
				return NewInvalid("body", "", "the body nests deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// decodeError says what is wrong where, in terms of JSON instead of Go types.
func decodeError(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		field := fieldPath(e.JSONPointer)
		what := "has the wrong type"
		if want := typeName(e.GoType); want != "" && e.JSONKind != 0 {
			what = "must be " + want + ", not " + kindName(e.JSONKind)
		}
		if e.Err != nil && errors.Is(e.Err, jsontext.ErrDuplicateName) {
			what = "appears twice"
		}
		return NewInvalid("body", field, "%s %s", fieldOrBody(field), what)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field := fieldPath(e.JSONPointer)
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return NewInvalid("body", field, "%s appears twice", fieldOrBody(field))
		}
		return NewInvalid("body", field, "the body is not valid JSON at byte %d", e.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return NewInvalid("body", "", "the body is empty or ends too early; it must be a JSON object")
	}
	return NewInvalid("body", "", "the body does not match this operation")
}

// fieldPath writes a path as session.Error does: prompt.files[0].uri.
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
		b.WriteString(session.ClipText(t, 60))
	}
	return session.ClipText(b.String(), 200)
}

func fieldOrBody(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// typeName names the JSON type that a Go type is read from. It is empty for types that decode themselves.
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
		return "a value of this kind"
	}
}
