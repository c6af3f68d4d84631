// Package wire holds what the protocol packages share: tolerant reading of the JSON that vendors send, text that
// arrives in pieces, the frames of an answer, tool schemas, call ids, token counts, and the classification of failures.
// A protocol package defines how its messages look; every decision that does not depend on that is made here.
//
// The package works on bytes: it knows no URL, no key and no connection. Everything that an answer makes it keep is
// bounded.
package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Foreign are the options for JSON of vendors: they accept repeated names and text that is not quite UTF-8.
var Foreign = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Object is a JSON object with undecoded members.
type Object map[string]jsontext.Value

// ReadObject returns the members of v; false if v is not an object.
func ReadObject(v jsontext.Value) (Object, bool) {
	var o Object
	return o, v.Kind() == '{' && json.Unmarshal(v, &o, Foreign) == nil
}

// ReadList returns the elements of v; false if v is not an array.
func ReadList(v jsontext.Value) ([]jsontext.Value, bool) {
	var list []jsontext.Value
	return list, json.Unmarshal(v, &list, Foreign) == nil && list != nil
}

// MarshalOr returns x as JSON, or fallback if x cannot be encoded. Equal values give equal bytes.
func MarshalOr(x any, fallback jsontext.Value) jsontext.Value {
	out, err := Marshal(x)
	if err != nil {
		return fallback
	}
	return out
}

// Marshal encodes a request body: equal values give equal bytes. Its error is an *llm.Error of class InvalidRequest.
func Marshal(x any) ([]byte, error) {
	out, err := json.Marshal(x, json.Deterministic(true), Foreign)
	if err != nil {
		return nil, NewInvalidRequest("the request cannot be encoded as JSON: %v", err)
	}
	return out, nil
}

// RepairJSON returns v as JSON that every reader accepts: invalid UTF-8 is replaced, and a value that is still not
// valid JSON, or repeats a name, becomes a string.
func RepairJSON(v jsontext.Value) jsontext.Value {
	v = jsontext.Value(Clip(string(v), len(v)))
	if !v.IsValid() {
		return Quote(string(v))
	}
	return v
}

// IsNonEmptyString reports whether v is a JSON string of at least one character.
func IsNonEmptyString(v jsontext.Value) bool { return v.Kind() == '"' && len(v) > 2 }

// IsPresent reports whether v exists and is not null.
func IsPresent(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// DecodeString returns the text of a JSON string; "" for any other value.
func DecodeString(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	var j Joiner
	return j.Next(v) + j.Flush()
}

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, s) // the error only reports that the text was repaired
	return out
}

// NewMalformed returns the error of an answer that violates the protocol.
func NewMalformed(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf(format, args...)}
}

// NewOversized returns the error of an answer that exceeds a limit. It is permanent: a retry would most likely produce
// the same answer, at the same price.
func NewOversized(format string, args ...any) *llm.Error {
	e := NewMalformed(format+", the most that cairn reads; ask for less at once", args...)
	e.Permanent = true
	return e
}

// NewInvalidRequest returns the error of a request that cannot be sent.
func NewInvalidRequest(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}
