package v2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
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

// invalid says which part of the request is wrong, beside what.
type invalid struct {
	part string // params, query, headers, body
	err  error
}

func (e *invalid) Error() string { return e.err.Error() }
func (e *invalid) Unwrap() error { return e.err }

func in(part string, err error) error {
	if err == nil {
		return nil
	}
	return &invalid{part, err}
}

// bad is an error of code invalid about a field.
func bad(part, field, format string, args ...any) error {
	return in(part, session.Errorf(session.CodeInvalid, format, args...).At(field))
}

// checkMedia refuses a body that is not declared as JSON: a page of another site can send nothing else unasked.
func checkMedia(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" {
		return nil
	}
	return Unsupported(r.Header.Get("Content-Type"))
}

// decode reads the body into a T. Unknown members are ignored, as OpenCode does; duplicate ones, and those
// that differ from a known one in case only, are refused.
func decode[T any](r *http.Request) (T, error) {
	var out T
	body, err := readBody(r)
	if err != nil {
		return out, unread(err)
	}
	if body, err = sanitize(body); err != nil {
		return out, err
	}
	if err := checkDepth(body); err != nil {
		return out, err
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, malformed(err)
	}
	if field, meant := misspelt(reflect.TypeFor[T](), body); field != "" {
		return out, bad("body", field, "%s is unknown; upper and lower case count: did you mean %s?", field, meant)
	}
	return out, nil
}

// optional reads a body that may be missing: OpenCode's SDK sends none, and no content type, where nothing is said.
func optional[T any](r *http.Request) (out T, err error) {
	if r.ContentLength == 0 && len(r.Header.Values("Content-Type")) == 0 {
		return out, nil
	}
	if err := checkMedia(r); err != nil {
		return out, err
	}
	return decode[T](r)
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

func unread(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return session.Errorf(session.CodeTooLarge, "the body is larger than the limit of %d bytes", tooLarge.Limit)
	}
	return bad("body", "", "the body could not be read to its end")
}

// sanitize replaces what is no text, also half of a surrogate pair as JavaScript cuts strings, so that it is never
// stored.
func sanitize(body []byte) ([]byte, error) {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return body, nil
	}
	v := jsontext.Value(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err := v.Format(jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, malformed(err)
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
				return bad("body", "", "the body nests deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// malformed tells what is wrong where, without the words of the Go types.
func malformed(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		field := dotted(e.JSONPointer)
		what := "has the wrong type"
		if want := typeName(e.GoType); want != "" && e.JSONKind != 0 {
			what = "must be " + want + ", not " + kindName(e.JSONKind)
		}
		if e.Err != nil && errors.Is(e.Err, jsontext.ErrDuplicateName) {
			what = "appears twice"
		}
		return bad("body", field, "%s %s", orBody(field), what)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field := dotted(e.JSONPointer)
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return bad("body", field, "%s appears twice", orBody(field))
		}
		return bad("body", field, "the body is not valid JSON at byte %d", e.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("body", "", "the body is empty or ends too early; it must be a JSON object")
	}
	return bad("body", "", "the body is not what this operation expects")
}

// dotted names a place in the body as session.Error does: prompt.files[0].uri.
func dotted(p jsontext.Pointer) string {
	var b strings.Builder
	for t := range p.Tokens() {
		if _, err := strconv.ParseUint(t, 10, 32); err == nil {
			fmt.Fprintf(&b, "[%s]", t)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(t, 60))
	}
	return clip(b.String(), 200)
}

func orBody(field string) string {
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

// span is what a number may be, and what it is when it is absent.
type span struct{ def, least, most int64 }

// number reads a decimal query parameter.
func number(r *http.Request, name string, in span) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return in.def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < in.least || n > in.most {
		return 0, bad("query", name, "%s must be a whole number from %d to %d, got %q", name, in.least, in.most, clip(s, 40))
	}
	return n, nil
}

// choice reads a query parameter that is one of few.
func choice(r *http.Request, name string, of ...string) (string, error) {
	s := r.URL.Query().Get(name)
	for _, o := range of {
		if s == o {
			return s, nil
		}
	}
	if s == "" {
		return "", nil
	}
	return "", bad("query", name, "%s must be one of %s, got %q", name, strings.Join(of, ", "), clip(s, 40))
}

// full reports whether the caller wants our own fields and kinds too.
func full(r *http.Request) bool {
	v := r.URL.Query().Get("all")
	return v == "1" || v == "true"
}

func sessionOf(r *http.Request) session.ID        { return session.ID(r.PathValue("sessionID")) }
func messageOf(r *http.Request) session.MessageID { return session.MessageID(r.PathValue("messageID")) }

// place returns the location of the request: query, then headers, then the server's own (spec/v2 HT-4). named says
// whether the request named it.
func (a *API) place(r *http.Request) (l session.Location, named bool, err error) {
	q := r.URL.Query()
	l = session.Location{Directory: q.Get("location[directory]"), WorkspaceID: q.Get("location[workspace]")}
	part := "query"
	if l.Directory == "" {
		if l.Directory = r.Header.Get("X-Opencode-Directory"); l.Directory != "" {
			part = "headers"
			if plain, err := url.PathUnescape(l.Directory); err == nil {
				l.Directory = plain
			}
		}
	}
	if l.WorkspaceID == "" {
		l.WorkspaceID = r.Header.Get("X-Opencode-Workspace")
	}
	if l.Directory == "" {
		l.Directory = a.directory
		return l, l.WorkspaceID != "", nil
	}
	l, err = cleanLocation(l)
	return l, true, in(part, err)
}

// cleanLocation refuses directories that name no one place.
func cleanLocation(l session.Location) (session.Location, error) {
	if !filepath.IsAbs(l.Directory) || strings.ContainsRune(l.Directory, 0) || !utf8.ValidString(l.Directory) || len(l.Directory) > 4096 {
		return l, session.Errorf(session.CodeInvalid, "the directory must be an absolute path, got %q", clip(l.Directory, 200)).At("location.directory")
	}
	l.Directory = filepath.ToSlash(filepath.Clean(l.Directory))
	if l.WorkspaceID != "" {
		if err := session.CheckID("location.workspaceID", "wrk", l.WorkspaceID); err != nil {
			return l, err
		}
	}
	return l, nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s…", strings.ToValidUTF8(s[:n], ""))
}
