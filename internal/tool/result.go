package tool

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Input decodes the input of a call, which Settle has checked against the schema.
func Input[T any](call Call) (T, error) {
	var in T
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return in, Failf("The input of %s is not usable: %v.", call.Name, err)
	}
	return in, nil
}

// EncodeObject encodes a structured result.
func EncodeObject(v any) jsontext.Value {
	out, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return out
}

// TextOutput returns a result of a text and a structured value.
func TextOutput(title, text string, structured any) Output {
	return Output{Title: title, Content: session.TextContent(text), Structured: EncodeObject(structured)}
}
