// Package llm defines the provider-neutral vocabulary of one model turn: the Request that is sent, the Events that
// stream back, the Error that ends a failed turn, and the Model that turns a Request into Events.
//
// A Request lives for seconds, and this package stores nothing: the engine lowers a session to a Request and records
// the Events as session facts. The protocol packages below this one (openaichat, …) translate to one wire format and
// back; they do no I/O beyond the transport that they are given.
//
// The package imports only the standard library and the JSON module.
package llm

import (
	"context"
	"iter"
)

// A Model answers one Request with a stream of Events.
//
// The stream ends at its first error, which is always an *Error. A stream that ends without an error has yielded
// exactly one Finish, as its last event. Cancelling ctx ends the stream with an *Error of class Aborted, unless the
// cause of the cancellation is itself an *Error (for example of a Watchdog); that error is then yielded unchanged.
// A Model is safe for concurrent use. The Request belongs to the caller; the Model does not modify it.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// EmbeddedModel is a model that the program itself provides, beside those of providers. It is offered as cairn/ID, and
// answers where the configuration names no model.
type EmbeddedModel struct {
	ID   string
	Name string // for people
	// Images and Documents: it reads images and PDFs in requests.
	Images, Documents bool
	// Open returns the model, the same one each time, and the size of its context window in tokens, 0 if that is unknown.
	Open func() (model Model, window int64, err error)
}
