package v1

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Fail answers with the error as every operation does: for those who decide before the operations are reached.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) { a.fail(w, r, err) }

// fail tells the error in the envelope that OpenCode has for it (spec/http §1.2). Words of errors that are not ours go
// to the log only, under a ref that the answer names.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := httpio.PublicError(err)
	var ref string
	switch {
	case e.Code == session.CodeInternal && httpio.IsClientGone(r, err):
		w.WriteHeader(http.StatusServiceUnavailable) // nobody reads it
		return
	case e.Code == session.CodeInternal:
		ref = httpio.NewRef()
		a.logger.ErrorContext(r.Context(), "request failed", "ref", ref, "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Code == session.CodeTooMany, e.Code == session.CodeUnavailable:
		w.Header().Set("Retry-After", "1")
	case e.Code == session.CodeDenied && e.Kind == api.KindAuth:
		w.WriteHeader(http.StatusUnauthorized) // OpenCode says no more
		return
	}
	status, body := encodeError(e, httpio.ErrorPart(err), ref)
	if m, ok := misconfiguration(err); ok {
		status, body = http.StatusBadRequest, m
	}
	b, err := httpio.Encode(body)
	if err != nil { // cannot be: strings only
		b = []byte(`{"name":"UnknownError","data":{"message":"the error could not be told"}}`)
	}
	_ = httpio.WriteJSON(w, status, b)
}

// named is the envelope of most errors. A bad request has its name as a tag, too: OpenCode's document promises the tag, its
// server sends the name from most operations and the tag from some.
type named struct {
	Tag  string `json:"_tag,omitzero"`
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Kind    string `json:"kind,omitzero"` // of a bad request: Payload, Query, Params, Headers
		Ref     string `json:"ref,omitzero"`  // of an unknown error: its line in the log
	} `json:"data"`
}

// tagged is the envelope of errors that OpenCode gives a type of their own. One of the ids is set.
type tagged struct {
	Tag       string            `json:"_tag"`
	RequestID string            `json:"requestID,omitzero"`
	SessionID string            `json:"sessionID,omitzero"`
	ProjectID session.ProjectID `json:"projectID,omitzero"`
	PtyID     string            `json:"ptyID,omitzero"`
	Name      string            `json:"name,omitzero"`
	Kind      string            `json:"kind,omitzero"`
	Field     string            `json:"field,omitzero"`
	Message   string            `json:"message"`
}

// bare is the envelope of a refusal without a word.
type bare struct {
	Tag string `json:"_tag"`
}

// encodeError returns the status and the body that tell of e, which is about the part of the request.
func encodeError(e *session.Error, part, ref string) (int, any) {
	message := httpio.Clip(e.Error(), maxMessage)
	switch e.Code {
	case session.CodeNotFound:
		return http.StatusNotFound, missing(e)
	case session.CodeConflict:
		if e.Kind == "session" {
			return http.StatusConflict, tagged{Tag: "SessionBusyError", SessionID: httpio.Clip(e.ID, maxID), Message: message}
		}
		return http.StatusConflict, envelope("ConflictError", message)
	case session.CodeInvalid:
		return invalid(e, part, message)
	case session.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, envelope("RequestTooLargeError", message)
	case session.CodeTooMany:
		return http.StatusTooManyRequests, envelope("TooManyRequestsError", message)
	case session.CodeDenied:
		return http.StatusForbidden, envelope("ForbiddenError", message)
	case session.CodeUnavailable:
		return http.StatusServiceUnavailable, envelope("ServiceUnavailableError", message)
	default:
		body := envelope("UnknownError", message)
		body.Data.Ref = ref
		return http.StatusInternalServerError, body
	}
}

const (
	maxMessage = 1024
	maxID      = 200
)

func envelope(name, message string) named {
	n := named{Name: name}
	n.Data.Message = message
	return n
}

// missing is the envelope for what is not there: OpenCode's clients know its words.
func missing(e *session.Error) any {
	id := httpio.Clip(e.ID, maxID)
	words := capital(e.Kind) + " not found: " + id
	switch e.Kind {
	case "permission":
		return tagged{Tag: "PermissionNotFoundError", RequestID: id, Message: "Permission request not found: " + id}
	case "question":
		return tagged{Tag: "QuestionNotFoundError", RequestID: id, Message: "Question request not found: " + id}
	case "project":
		return tagged{Tag: "ProjectNotFoundError", ProjectID: session.ProjectID(id), Message: words}
	case "pty":
		return tagged{Tag: "PtyNotFoundError", PtyID: id, Message: "PTY session not found: " + id}
	case "mcp":
		return tagged{Tag: "McpServerNotFoundError", Name: id, Message: "MCP server not found: " + id}
	case "session", "message", "part", "path", "workspace":
		return envelope("NotFoundError", words)
	default: // with what may have been meant
		return envelope("NotFoundError", httpio.Clip(e.Error(), maxMessage))
	}
}

func capital(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[size:]
}

// invalid says what is wrong where, as OpenCode's schemas do: the place on a line of its own.
func invalid(e *session.Error, part, message string) (int, named) {
	switch e.Kind {
	case api.KindMethod:
		return http.StatusMethodNotAllowed, envelope("MethodNotAllowedError", message)
	case api.KindMedia:
		return http.StatusUnsupportedMediaType, envelope("UnsupportedMediaTypeError", message)
	}
	if e.Field != "" {
		message += "\n  at " + at(e.Field)
	}
	body := envelope("BadRequest", message)
	body.Tag = body.Name
	body.Data.Kind = map[string]string{"query": "Query", "params": "Params", "headers": "Headers"}[part]
	if body.Data.Kind == "" {
		body.Data.Kind = "Payload"
	}
	return http.StatusBadRequest, body
}

// at writes a field such as parts[0].text as ["parts"][0]["text"].
func at(field string) string {
	var b strings.Builder
	for name := range strings.SplitSeq(field, ".") {
		name, index, indexed := strings.Cut(name, "[")
		if name != "" {
			b.WriteString(`["` + name + `"]`)
		}
		if indexed {
			b.WriteString("[" + index)
		}
	}
	return b.String()
}
