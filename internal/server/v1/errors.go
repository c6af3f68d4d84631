package v1

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// statusError is an error with a status and an envelope of its own.
type statusError struct {
	status int
	body   any
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.status) }

// Fail answers with an error in the envelope that OpenCode has for it. The texts of internal errors go to the log only,
// under a ref that the response names.
func (d *dependencies) Fail(w http.ResponseWriter, r *http.Request, err error) {
	// A handler that built its own response needs no envelope.
	if own, ok := errors.AsType[*statusError](err); ok {
		_ = httpio.WriteJSON(w, own.status, own.body)
		return
	}
	// The client gets the public form of the error only.
	err = locateDirectoryError(r, err)
	e := httpio.PublicError(err)
	var ref string
	// Some errors need a header, a log line, or a response without a body.
	switch {
	case e.Code == session.CodeInternal && httpio.IsClientGone(r, err):
		w.WriteHeader(http.StatusServiceUnavailable) // for the log: the client has disconnected
		return
	case e.Code == session.CodeInternal:
		ref = httpio.NewRef()
		d.Logger.ErrorContext(r.Context(), "request failed",
			"ref", ref, "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Code == session.CodeTooMany, e.Code == session.CodeUnavailable:
		w.Header().Set("Retry-After", "1")
	case e.Code == session.CodeDenied && e.Kind == api.KindAuth:
		w.WriteHeader(http.StatusUnauthorized) // OpenCode sends no body; the header X-Cairn-Error has the words
		return
	}
	// Streams announce the refusal as well. An invalid configuration has a body of its own.
	d.publishRefusal(r, e)
	status, body := encodeError(e, httpio.ErrorPart(err), ref)
	if c, ok := encodeConfigError(err); ok {
		status, body = http.StatusBadRequest, c
	}
	b, err := httpio.Encode(body)
	if err != nil { // cannot happen: the envelopes contain strings only
		b = []byte(`{"name":"UnknownError","data":{"message":"the error could not be encoded"}}`)
	}
	_ = httpio.WriteEncoded(w, status, b)
}

// isDirectoryError reports whether an error says that the directory of a location is invalid.
func isDirectoryError(e *session.Error) bool {
	return e.Code == session.CodeInvalid && (e.Field == "location.directory" || e.Field == "directory")
}

// locateDirectoryError says where the request names the directory that an error is about.
func locateDirectoryError(r *http.Request, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case !ok || !isDirectoryError(e) || httpio.ErrorPart(err) == "body":
		return err
	case r.URL.Query().Get("directory") != "":
		return httpio.NewInvalid("query", "directory", "%s", e.Message)
	case r.Header.Get("X-Opencode-Directory") != "":
		return httpio.NewInvalid("headers", "x-opencode-directory", "%s", e.Message)
	default: // the server's own directory
		return session.Errorf(session.CodeInvalid, "%s", e.Message)
	}
}

// namedError is the envelope of most errors. A bad request has its name as a tag, too: OpenCode's document promises the
// tag; its server sends the name from most operations and the tag from some.
type namedError struct {
	Tag  string `json:"_tag,omitzero"`
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Kind    string `json:"kind,omitzero"` // of a bad request: Payload, Query, Params, Headers
		Ref     string `json:"ref,omitzero"`  // of an unknown error: its line in the log
		Code    string `json:"code,omitzero"` // why the caller is refused
	} `json:"data"`
}

// taggedError is the envelope of errors that have a type of their own in OpenCode. One of the ids is set.
type taggedError struct {
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

// bareError is the envelope of an error without a message.
type bareError struct {
	Tag string `json:"_tag"`
}

// encodeError returns the status and the body of e, which is about a part of the request.
func encodeError(e *session.Error, part, ref string) (int, any) {
	message := session.ClipText(e.Error(), maxMessage)
	switch e.Code {
	case session.CodeNotFound:
		return http.StatusNotFound, encodeNotFound(e)
	case session.CodeConflict:
		if e.Kind == "session" {
			busy := taggedError{Tag: "SessionBusyError", SessionID: session.ClipText(e.ID, maxID), Message: message}
			return http.StatusConflict, busy
		}
		return http.StatusConflict, newNamedError("ConflictError", message)
	case session.CodeInvalid:
		return encodeInvalid(e, part, message)
	case session.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, newNamedError("RequestTooLargeError", message)
	case session.CodeTooMany:
		return http.StatusTooManyRequests, newNamedError("TooManyRequestsError", message)
	case session.CodeDenied:
		body := newNamedError("ForbiddenError", message)
		body.Data.Code = e.Reason
		return http.StatusForbidden, body
	case session.CodeUnavailable:
		return http.StatusServiceUnavailable, newNamedError("ServiceUnavailableError", message)
	default:
		body := newNamedError("UnknownError", message)
		body.Data.Ref = ref
		return http.StatusInternalServerError, body
	}
}

// The kinds of asks, as errors name them.
const (
	kindPermission = "permission"
	kindQuestion   = "question"
)

const (
	maxMessage = 1024
	maxID      = 200
)

func newNamedError(name, message string) namedError {
	n := namedError{Name: name}
	n.Data.Message = message
	return n
}

// encodeNotFound returns the envelope for something missing, with the messages that OpenCode's clients know.
func encodeNotFound(e *session.Error) any {
	id := session.ClipText(e.ID, maxID)
	message := capitalizeFirst(e.Kind) + " not found: " + id
	switch e.Kind {
	case kindPermission:
		return taggedError{
			Tag:       "PermissionNotFoundError",
			RequestID: id,
			Message:   "Permission request not found: " + id,
		}
	case kindQuestion:
		return taggedError{Tag: "QuestionNotFoundError", RequestID: id, Message: "Question request not found: " + id}
	case "project":
		return taggedError{Tag: "ProjectNotFoundError", ProjectID: session.ProjectID(id), Message: message}
	case "pty":
		return taggedError{Tag: "PtyNotFoundError", PtyID: id, Message: "PTY session not found: " + id}
	case "mcp":
		return taggedError{Tag: "McpServerNotFoundError", Name: id, Message: "MCP server not found: " + id}
	case "session", "message", "part", "path", "workspace":
		return newNamedError("NotFoundError", message)
	default: // the message suggests names
		return newNamedError("NotFoundError", session.ClipText(e.Error(), maxMessage))
	}
}

func capitalizeFirst(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[size:]
}

// encodeInvalid says what is wrong where, in the form of OpenCode's schema errors: the place has a line of its own.
func encodeInvalid(e *session.Error, part, message string) (int, namedError) {
	switch e.Kind {
	case api.KindMethod:
		return http.StatusMethodNotAllowed, newNamedError("MethodNotAllowedError", message)
	case api.KindMedia:
		return http.StatusUnsupportedMediaType, newNamedError("UnsupportedMediaTypeError", message)
	}
	if e.Field != "" {
		message += "\n  at " + formatPath(e.Field)
	}
	if e.Kind == session.KindUnimplemented { // OpenCode's document has no 501
		return http.StatusBadRequest, newNamedError("NotImplementedError", message)
	}
	body := newNamedError("BadRequest", message)
	body.Tag = body.Name
	body.Data.Kind = map[string]string{"query": "Query", "params": "Params", "headers": "Headers"}[part]
	if body.Data.Kind == "" {
		body.Data.Kind = "Payload"
	}
	return http.StatusBadRequest, body
}

// formatPath writes a field such as parts[0].text as ["parts"][0]["text"].
func formatPath(field string) string {
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

// configError is the envelope of an error in a configuration file that a request needs: the file, and its first invalid
// value, or that it is not JSON.
type configError struct {
	Name string `json:"name" enum:"ConfigInvalidError,ConfigJsonError"`
	Data struct {
		Path    string        `json:"path"`
		Message string        `json:"message,omitzero"` // of a file that is not JSON
		Issues  []configIssue `json:"issues,omitzero"`  // of a file with an invalid value
	} `json:"data"`
}

type configIssue struct {
	Path    []any  `json:"path"` // names, and indices of items
	Message string `json:"message"`
}

// encodeConfigError returns the envelope if err is about a configuration file.
func encodeConfigError(err error) (c configError, ok bool) {
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		return c, false
	}
	message := e.Message
	if e.Line > 0 {
		message = fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	message = session.ClipText(message, maxMessage)
	c.Data.Path = e.File
	if e.Key == "" {
		c.Name, c.Data.Message = "ConfigJsonError", message
		return c, true
	}
	c.Name, c.Data.Issues = "ConfigInvalidError", []configIssue{{splitKey(e.Key), message}}
	return c, true
}

// splitKey returns the names and indices of a key such as mcp.x.command[1].
func splitKey(key string) []any {
	var out []any
	for name := range strings.SplitSeq(strings.ReplaceAll(key, "[", ".["), ".") {
		n, err := strconv.Atoi(strings.Trim(name, "[]"))
		switch {
		case name == "":
		case strings.HasPrefix(name, "[") && err == nil:
			out = append(out, n)
		default:
			out = append(out, name)
		}
	}
	return out
}
