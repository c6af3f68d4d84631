package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// The kinds of session.Error that have a meaning of their own on the wire.
const (
	KindAuth   = "auth"   // with CodeDenied: who asks is not known; 401
	KindCursor = "cursor" // with CodeInvalid: not a cursor; with CodeConflict: beyond the stream's end, ID is the newest
	KindMethod = "method" // with CodeInvalid: the path has no such method; 405
	KindMedia  = "media"  // with CodeInvalid: the body is not application/json; 415
	// With CodeUnavailable, in the field service: asking again does not help until something is repaired.
	KindStore   = "store"   // the data cannot be written, or not be read
	KindDamaged = "damaged" // stored data of this session, or all of it, is not what was written
	// With CodeUnavailable, in the field service: the session was still at work when the wait reached its timeout.
	KindWorking = "session.wait"
)

// errorBody is every error answer: OpenCode's tagged objects, and in the last four fields what only ours say.
type errorBody struct {
	Tag        string   `json:"_tag"`
	Message    string   `json:"message"`
	Code       string   `json:"code,omitzero"` // why the caller is refused
	Kind       string   `json:"kind,omitzero"` // of an invalid request: params, query, headers, body
	Field      string   `json:"field,omitzero"`
	SessionID  string   `json:"sessionID,omitzero"`
	MessageID  string   `json:"messageID,omitzero"`
	RequestID  string   `json:"requestID,omitzero"`
	ProviderID string   `json:"providerID,omitzero"`
	Resource   string   `json:"resource,omitzero"`
	Service    string   `json:"service,omitzero"`
	Ref        string   `json:"ref,omitzero"`
	Nearest    []string `json:"nearest,omitzero"`
	What       string   `json:"what,omitzero"` // the kind of thing that the error is about
	Reason     string   `json:"reason,omitzero"`
	Head       string   `json:"head,omitzero"` // with reason cursor_ahead
}

// errorRow is one line of the table: an error of the code, and of the kind unless that is "", has this status and tag,
// and its id stands in this field.
type errorRow struct {
	code   session.Code
	kind   string
	status int
	tag    string
	id     func(*errorBody) *string
}

func sessionID(b *errorBody) *string     { return &b.SessionID }
func messageID(b *errorBody) *string     { return &b.MessageID }
func requestID(b *errorBody) *string     { return &b.RequestID }
func providerID(b *errorBody) *string    { return &b.ProviderID }
func resourceField(b *errorBody) *string { return &b.Resource }
func headField(b *errorBody) *string     { return &b.Head }

// errorTable is read in both directions; the first row that fits counts (HT-1).
func errorTable() []errorRow {
	const notFound = http.StatusNotFound
	return []errorRow{
		{session.CodeNotFound, "session", notFound, sessionNotFound, sessionID},
		{session.CodeNotFound, "message", notFound, "MessageNotFoundError", messageID},
		{session.CodeNotFound, "permission", notFound, "PermissionNotFoundError", requestID},
		{session.CodeNotFound, "question", notFound, "QuestionNotFoundError", requestID},
		{session.CodeNotFound, "provider", notFound, "ProviderNotFoundError", providerID},
		{session.CodeNotFound, "agent", http.StatusBadRequest, invalidRequest, resourceField},
		{session.CodeNotFound, "model", http.StatusBadRequest, invalidRequest, resourceField},
		{session.CodeNotFound, "variant", http.StatusBadRequest, invalidRequest, resourceField},
		{session.CodeNotFound, "prompt", notFound, "PromptNotFoundError", messageID},
		{session.CodeNotFound, "", notFound, "NotFoundError", resourceField},
		{session.CodeInvalid, KindCursor, http.StatusBadRequest, "InvalidCursorError", nil},
		{session.CodeInvalid, KindMethod, http.StatusMethodNotAllowed, "MethodNotAllowedError", nil},
		{session.CodeInvalid, KindMedia, http.StatusUnsupportedMediaType, "UnsupportedMediaTypeError", nil},
		{session.CodeInvalid, session.KindUnimplemented, http.StatusNotImplemented, "NotImplementedError", nil},
		{session.CodeInvalid, "", http.StatusBadRequest, invalidRequest, nil},
		{session.CodeConflict, KindCursor, http.StatusConflict, "ConflictError", headField},
		{session.CodeConflict, "", http.StatusConflict, "ConflictError", resourceField},
		{session.CodeTooLarge, "", http.StatusRequestEntityTooLarge, "RequestTooLargeError", nil},
		{session.CodeTooMany, "", http.StatusTooManyRequests, "TooManyRequestsError", nil},
		{session.CodeDenied, KindAuth, http.StatusUnauthorized, "UnauthorizedError", nil},
		{session.CodeDenied, "", http.StatusForbidden, "ForbiddenError", nil},
		{session.CodeUnavailable, "", http.StatusServiceUnavailable, "ServiceUnavailableError", nil},
		{session.CodeInternal, "", http.StatusInternalServerError, "UnknownError", nil},
	}
}

func rowOf(e *session.Error) errorRow {
	rows := errorTable()
	for _, r := range rows {
		if r.code == e.Code && (r.kind == "" || r.kind == e.Kind) {
			return r
		}
	}
	return rows[len(rows)-1]
}

// ErrorContext holds the facts about a request that a failure response names beside the error.
type ErrorContext struct {
	SessionID string // of the path
	Part      string // of an invalid request: params, query, headers, body
	Ref       string // names the log line that holds the cause
}

// EncodeError returns the status and the body that tell of e.
func EncodeError(e *session.Error, c ErrorContext) (status int, body []byte) {
	// The table gives the status, the tag, and the field of the id.
	r := rowOf(e)
	b := errorBody{
		Tag:     r.tag,
		Message: session.ClipText(e.Error(), maxMessage),
		Field:   e.Field,
		Nearest: e.Nearest,
		What:    e.Kind,
		Ref:     c.Ref,
		Code:    e.Reason,
	}
	if r.id != nil {
		*r.id(&b) = session.ClipText(e.ID, 200)
	}
	// Fields that only some tags have.
	switch {
	case r.tag == "MessageNotFoundError" && b.SessionID == "":
		b.SessionID = c.SessionID
	case r.tag == invalidRequest:
		b.Kind = c.Part
	case r.tag == "InvalidCursorError":
		b.Field = ""
	case r.code == session.CodeUnavailable:
		b.Service = e.Kind
	case r.kind == KindCursor && r.code == session.CodeConflict:
		b.Reason = "cursor_ahead"
	}
	// The kind is sent only if the tag does not imply it.
	if b.What == KindAuth || b.What == KindCursor || r.kind != "" && r.tag != invalidRequest {
		b.What = ""
	}
	body, err := json.Marshal(b, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil { // cannot be: strings only
		return http.StatusInternalServerError, []byte(`{"_tag":"UnknownError","message":"the error could not be encoded"}`)
	}
	return r.status, body
}

const (
	sessionNotFound = "SessionNotFoundError"
	// invalidRequest is also the tag of an unknown agent, model or variant, which What names: clients drop the session
	// when something is not found on its path.
	invalidRequest = "InvalidRequestError"
)

// maxMessage bounds the message of an error (HT-2).
const maxMessage = 1024

// DecodeError returns the error of an answer with the status and body. A body of another contract, from a proxy for
// example, gives a *TransportError.
func DecodeError(status int, body []byte) error {
	// A body without a known tag is from another program.
	var b errorBody
	if err := json.Unmarshal(body, &b, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil ||
		b.Tag == "" {
		err := fmt.Errorf("unexpected status %d: %s", status, session.ClipText(string(body), 200))
		return &TransportError{Op: "read the response", Err: err, Foreign: true}
	}
	r, ok := rowFor(b)
	if !ok {
		err := fmt.Errorf("unexpected status %d: %s: %s", status, b.Tag, session.ClipText(b.Message, 200))
		return &TransportError{Op: "read the response", Err: err, Foreign: true}
	}
	// Reverse EncodeError. Error() appends the suggestions itself, so they are cut off the message.
	e := &session.Error{
		Code:    r.code,
		Message: b.Message,
		Kind:    r.kind,
		Field:   b.Field,
		Nearest: b.Nearest,
		Reason:  b.Code,
	}
	e.Message = strings.TrimSuffix(b.Message, (&session.Error{Nearest: b.Nearest}).Error())
	switch {
	case r.kind == "" && b.What != "":
		e.Kind = b.What
	case r.code == session.CodeUnavailable:
		e.Kind = b.Service
	case r.tag == "InvalidCursorError":
		e.Field = "cursor"
	}
	// The id of the thing, or the reference to the server's log.
	if r.id != nil {
		e.ID = *r.id(&b)
	}
	if b.Ref != "" {
		e.ID = b.Ref
	}
	return e
}

func rowFor(b errorBody) (errorRow, bool) {
	for _, r := range errorTable() {
		if b.Tag == invalidRequest && r.tag == b.Tag && r.kind != "" && r.kind == b.What {
			return r, true
		}
	}
	for _, r := range errorTable() {
		isSelection := r.tag == invalidRequest && r.kind != ""
		isAhead := r.kind == KindCursor && r.code == session.CodeConflict
		if r.tag == b.Tag && !isSelection && isAhead == (b.Reason == "cursor_ahead") {
			return r, true
		}
	}
	return errorRow{}, false
}

// TransportError says that the server could not be reached, broke off, or answered with something that is not of this
// contract. What was asked may or may not have happened.
type TransportError struct {
	Op      string // what was being done
	Err     error
	Foreign bool // an answer came, and it is not of this contract
}

func (e *TransportError) Error() string { return e.Op + ": " + e.Err.Error() }

// Reason returns the cause in words for people, where it is a name that cannot be resolved or a system call's error.
func (e *TransportError) Reason() string {
	if d, ok := errors.AsType[*net.DNSError](e.Err); ok {
		return "the host name " + d.Name + " cannot be resolved"
	}
	if errno, ok := errors.AsType[syscall.Errno](e.Err); ok {
		return errno.Error()
	}
	return e.Error()
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }
