package engine

import (
	"fmt"
	"unicode/utf8"
)

// tooLong ends an answer that has more bytes than Limits.AnswerBytes. What fitted is kept.
type tooLong struct{ limit int }

func (e *tooLong) Error() string {
	return fmt.Sprintf("the model's answer is longer than %d bytes, the limit (limits.answer); what came until then is kept", e.limit)
}

// cutCall is what the model reads of a call that its limit of output tokens cut.
const cutCall = "Your answer reached its limit of output tokens in the middle of this call, so it was not run. The same call would be cut again: say less at once, and split what you write into several smaller calls."

// cutOff notes that the answer reached its limit: what is wrong with its last call is that it is not all there.
func (t *turn) cutOff() {
	if n := len(t.calls); n > 0 && t.calls[n-1].invalid != "" {
		t.calls[n-1].cut = true
	}
}

// fit counts a piece of the answer and returns what of it is within the limit, with a *tooLong if that is not all.
func (t *turn) fit(piece string) (string, error) {
	left := t.limits.AnswerBytes - t.size
	if len(piece) <= left {
		t.size += len(piece)
		return piece, nil
	}
	for left > 0 && !utf8.RuneStart(piece[left]) {
		left--
	}
	t.size += left
	return piece[:left], &tooLong{t.limits.AnswerBytes}
}
