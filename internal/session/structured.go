package session

import "github.com/go-json-experiment/json/jsontext"

// Format requests structured output for a prompt: one value that matches a JSON Schema. The value is stored in the
// message of the turn that produces it.
type Format struct {
	Schema  jsontext.Value `json:"schema"`
	Retries int            `json:"retries,omitzero"` // attempts after an answer that does not match
}

// The Finish of a turn without the required structured output; the next turn tries again.
const (
	FinishUnformed = "unformed"
	FinishCut      = "unformed-cut" // because the answer reached the model's output limit
)

// IsUnformed reports whether the finish means that the next turn tries the structured output again.
func IsUnformed(finish string) bool { return finish == FinishUnformed || finish == FinishCut }
