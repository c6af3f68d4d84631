// Package operation declares the operations of an HTTP contract. One row gives everything about an operation: New takes
// the method and the path, the id in the OpenAPI document and a function from a request to a response. What the
// function reads, and what the document says about that, follows from the types of its parameter and its result.
//
// A request type is a struct. The tags of its fields say where their values come from:
//
//   - path:"sessionID" is a parameter of the path. Fields of the id types of package session are checked for the prefix
//     of their type; the tag id:"per,que" lists the prefixes that other ids may have.
//   - query:"limit" is a parameter of the query: text, an int64 with the tags default, min and max, or a bool, which is
//     true for "true". A pointer is nil where the parameter is absent. required:"true" refuses requests without the
//     parameter, enum:"a,b" all other values. query:"-" is no part of the request.
//   - header:"Last-Event-ID" is a header. The document does not list headers.
//   - body:"required" and body:"optional" is the JSON body. A body that has a method Validate is checked by it.
//   - A field of type Location is the location of the request.
//   - A field whose pointer implements Decoder decodes itself.
//
// The path is checked before the query, the query before the body, and the body before the location.
//
// A response is the JSON of the function's result, None for status 204, or a Response that writes itself.
package operation

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Operation is one row of a contract's table.
type Operation struct {
	Role   caller.Role // what its callers need
	Method string
	Path   string // a pattern of http.ServeMux
	ID     string // operationId in the document; the document leaves out operations without one
	// Unimplemented is set if the capability of the operation is not built: it validates nothing and changes nothing.
	Unimplemented bool

	request        *requestType
	response       reflect.Type   // nil: status 204, without a responseSchema
	responseSchema jsontext.Value // JSON Schema of a constant's response
	media          string         // of the response; "" is JSON
	summary        string         // what the operation does, in one imperative phrase
	statuses       []int          // of failures that the request type does not imply
	serve          func(*requestCall) error
}

// Location is the location of a request.
type Location struct {
	session.Location

	Named bool // the request names it
}

// Decoder is a field of a request type that decodes itself.
type Decoder interface {
	DecodeRequest(r *http.Request) error
}

// Validator is a body that has rules beyond its type. Validate returns what is wrong with it.
type Validator interface {
	Validate() error
}

// Documenter is a body or a parameter that the document describes as another type.
type Documenter interface {
	DocumentType() reflect.Type
}

// None is the response without a body: status 204.
type None struct{}

// Response is a response that writes itself.
type Response interface {
	Respond(w http.ResponseWriter, r *http.Request) error
	// DescribeResponse returns what the document says of the response: the type, and its media type, "" for JSON. It is called
	// for the zero value.
	DescribeResponse() (t reflect.Type, media string)
}

// Func is a response that writes itself; the document describes it as the JSON of a T.
type Func[T any] func(w http.ResponseWriter, r *http.Request) error

// Respond implements Response.
func (f Func[T]) Respond(w http.ResponseWriter, r *http.Request) error { return f(w, r) }

// DescribeResponse implements Response.
func (Func[T]) DescribeResponse() (t reflect.Type, media string) { return reflect.TypeFor[T](), "" }

// Stream is a response that writes server-sent events; each is a T.
type Stream[T any] func(w http.ResponseWriter, r *http.Request) error

// Respond implements Response.
func (s Stream[T]) Respond(w http.ResponseWriter, r *http.Request) error { return s(w, r) }

// DescribeResponse implements Response.
func (Stream[T]) DescribeResponse() (t reflect.Type, media string) {
	return reflect.TypeFor[T](), "text/event-stream"
}

// New returns the operation of a route such as "read GET /session/{sessionID} Return a session": the role that callers
// need, the method, the path, and the summary of the document. It panics if there is no role, or if the tags of In
// are wrong.
func New[In, Out any](route, id string, handle func(context.Context, In) (Out, error)) Operation {
	o := newOperation[In, Out](route, id)
	o.serve = func(c *requestCall) error {
		var in In
		if err := o.request.decode(c, reflect.ValueOf(&in).Elem()); err != nil {
			return err
		}
		out, err := handle(c.r.Context(), in)
		if err != nil {
			return err
		}
		return respond(c, out)
	}
	return o
}

func newOperation[In, Out any](route, id string) Operation {
	name, pattern, _ := strings.Cut(route, " ")
	method, rest, _ := strings.Cut(pattern, " ")
	path, summary, _ := strings.Cut(rest, " ")
	role, err := caller.ParseRole(name)
	if err != nil {
		panic(fmt.Sprintf("operation %s: %v", route, err))
	}
	o := Operation{
		Role: role, Method: method, Path: path, ID: id, summary: summary,
		request: newRequestType(pattern, reflect.TypeFor[In]()),
	}
	var zero Out
	switch out := any(zero).(type) {
	case None:
	case Response:
		o.response, o.media = out.DescribeResponse()
	default:
		o.response = reflect.TypeFor[Out]()
	}
	return o
}

func respond(c *requestCall, out any) error {
	switch out := out.(type) {
	case None:
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	case Response:
		return out.Respond(c.w, c.r)
	default:
		return httpio.WriteJSON(c.w, http.StatusOK, out)
	}
}

// IsStream reports whether the operation sends events until its client leaves.
func (o Operation) IsStream() bool { return o.media == "text/event-stream" }

// RequiresBody reports whether the operation reads a body that must be present.
func (o Operation) RequiresBody() bool {
	return o.request.bodyIndex != nil && !o.request.bodyOptional
}
