package session

import "strings"

// MaxSummary is the limit of a session's summary, in bytes.
const MaxSummary = 4 << 10

// ProseSummary says what was done in a session.
type ProseSummary struct {
	Text      string    `json:"text"`
	Generated bool      `json:"generated,omitzero"` // by a model; a user's is never replaced by one
	Through   MessageID `json:"through,omitzero"`   // the newest message that a model has read for it
}

// NewProseSummary returns the summary that a user writes. No text removes it.
func NewProseSummary(text string) (ProseSummary, error) {
	if text = strings.TrimSpace(text); len(text) > MaxSummary {
		return ProseSummary{}, Errorf(
			CodeInvalid, "the summary has %d bytes, the limit is %d", len(text), MaxSummary,
		).At("summary")
	}
	return ProseSummary{Text: text}, nil
}
