package session

import "github.com/go-json-experiment/json/jsontext"

// Format is the form that a prompt wants its answer in: one value that fits a JSON Schema. It stands on the message of
// the turn that gives it.
type Format struct {
	Schema  jsontext.Value `json:"schema"`
	Retries int            `json:"retries,omitzero"` // how often the model may try again after an answer that does not fit
}

// The Finish of a turn whose answer is not in the form that the prompt wants: the next turn tries again.
const (
	FinishUnformed = "unformed"
	FinishCut      = "unformed-cut" // because it reached the limit of what the model may say at once
)

// IsUnformed reports whether a turn that ended so is followed by one that tries the form again.
func IsUnformed(finish string) bool { return finish == FinishUnformed || finish == FinishCut }
