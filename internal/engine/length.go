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
