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

// DescribeFinish says how the provider ended an incomplete answer; "" if the answer is complete.
func DescribeFinish(finish string) string {
	switch finish {
	case "length", FinishCut:
		return "the answer is cut off at the model's output limit"
	case "content-filter":
		return "the provider's content filter ended the answer"
	case "error", "unknown":
		return "the provider ended the answer without a known reason (" + finish + ")"
	default:
		return ""
	}
}
