// Package wire holds what the protocol packages share: the JSON that vendors really send, text that arrives in pieces,
// the frames of an answer, tool schemas, call ids, counts, and what a failed exchange means. A protocol package says
// how its messages look; everything that does not depend on that is here, once.
//
// It is functions of bytes: it knows no URL, no key and no connection. Everything that an answer can make it remember
// is bounded.
package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Foreign accepts what vendors really send: repeated names, and text that is not quite UTF-8.
var Foreign = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Object is one JSON object whose members stay as they were sent.
type Object map[string]jsontext.Value

// ReadObject returns the members of v; false if it is not an object.
func ReadObject(v jsontext.Value) (Object, bool) {
	var o Object
	return o, v.Kind() == '{' && json.Unmarshal(v, &o, Foreign) == nil
}

// List returns the elements of v; false if it is not an array.
func List(v jsontext.Value) ([]jsontext.Value, bool) {
	var list []jsontext.Value
	return list, json.Unmarshal(v, &list, Foreign) == nil && list != nil
}

// Write returns x as JSON, the same bytes for the same x, or instead when it cannot be written.
func Write(x any, instead jsontext.Value) jsontext.Value {
	out, err := Marshal(x)
	if err != nil {
		return instead
	}
	return out
}

// Marshal writes a request's body: equal values give equal bytes. Its error is an *llm.Error of class InvalidRequest.
func Marshal(x any) ([]byte, error) {
	out, err := json.Marshal(x, json.Deterministic(true), Foreign)
	if err != nil {
		return nil, Invalid("the request cannot be written as JSON: %v", err)
	}
	return out, nil
}

// Strict returns v as JSON that every reader takes: text that is not UTF-8 is repaired, and what is not JSON even so, or
// repeats a name, becomes a string.
func Strict(v jsontext.Value) jsontext.Value {
	v = jsontext.Value(Clip(string(v), len(v)))
	if !v.IsValid() {
		return Quote(string(v))
	}
	return v
}

// IsText reports whether v is a JSON string with something in it.
func IsText(v jsontext.Value) bool { return v.Kind() == '"' && len(v) > 2 }

// Present reports whether v is there and not null.
func Present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// Plain returns the text of a JSON string; empty for any other value.
func Plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	var j Joiner
	return j.Next(v) + j.End()
}

// Quote returns s as a JSON string; what is not UTF-8 becomes U+FFFD.
func Quote(s string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, s) // the error only says that the text was repaired
	return out
}

// Malformed is the error of an answer that the protocol does not allow.
func Malformed(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf(format, args...)}
}

// Oversized is the error of an answer that is larger than is read. Asked again, the model would most likely send as much,
// and it costs as much.
func Oversized(format string, args ...any) *llm.Error {
	e := Malformed(format+", the most that cairn reads; ask for less at once", args...)
	e.Permanent = true
	return e
}

// Invalid is the error of a request that cannot be sent.
func Invalid(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}
