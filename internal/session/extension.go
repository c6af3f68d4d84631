package session

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// CallExtensions is what extensions decided about a call before it ran. It is recorded with the call, so that a call
// which a restart runs again needs no extension.
type CallExtensions struct {
	Input  jsontext.Value `json:"input,omitzero"`  // that the call runs with; nil is what the model wrote
	Effect Effect         `json:"effect,omitzero"` // "" leaves the decision to the rules
	Reason string         `json:"reason,omitzero"` // of the effect
	// Context is what the model reads after the result.
	Context string `json:"context,omitzero"`
	// Halt is why the work ends after the calls of the answer; "" does not end it.
	Halt string   `json:"halt,omitzero"`
	By   []string `json:"by"` // the extensions that took part, in their order
}

// Replacement says what extensions put in the place of something.
type Replacement struct {
	By     []string `json:"by"`              // the extensions, in their order
	Digest string   `json:"digest,omitzero"` // hexadecimal SHA-256 of what was replaced
	Bytes  int      `json:"bytes,omitzero"`  // of what was replaced
}

// RunsWith returns the input that the call runs with.
func (t *Tool) RunsWith() jsontext.Value {
	if t.Extensions != nil && len(t.Extensions.Input) > 0 {
		return t.Extensions.Input
	}
	return t.State.Input
}

// Alteration says that extensions changed the options or the tools of a request.
type Alteration struct {
	By     []string `json:"by"`              // the extensions
	Digest string   `json:"digest,omitzero"` // hexadecimal SHA-256 of what was sent, without headers
}

// JoinNames returns names with those of more that it lacks.
func JoinNames(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(slices.Clip(names), name)
		}
	}
	return names
}
