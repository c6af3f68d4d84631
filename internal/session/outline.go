package session

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"
)

// Outline is what an import compares of a message: whether it has changed, and whether anything of it was lost.
type Outline struct {
	ID     MessageID `json:"id"`
	Digest string    `json:"digest"` // of its stored form
	Items  int       `json:"items"`  // of an answer, each result of a call counted too
}

// NewOutline returns the outline of a message. stored is what EncodeMessage returns for it.
func NewOutline(m Message, stored jsontext.Value) Outline {
	sum := sha256.Sum256(stored)
	o := Outline{ID: m.Meta().ID, Digest: hex.EncodeToString(sum[:16])}
	a, ok := m.(*Assistant)
	if !ok {
		return o
	}
	o.Items = len(a.Content)
	for _, t := range a.Tools() {
		if e := t.State.Error; t.State.Status.IsSettled() && (e == nil || e.Reason != ReasonInterrupted) {
			o.Items++
		}
	}
	return o
}
