package record

import (
	"fmt"
	"unicode/utf8"
)

// TooLongError ends an answer with more bytes than its limit. What fits is recorded.
type TooLongError struct{ Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the model's answer is longer than %d bytes, the limit (limits.answer); "+
		"what came until then is kept", e.Limit)
}

// countBytes counts a piece of the answer and returns the part of it within the limit, with a *TooLongError if that is
// not all of it.
func (r *Recorder) countBytes(piece string) (string, error) {
	left := r.config.AnswerBytes - r.size
	if len(piece) <= left {
		r.size += len(piece)
		return piece, nil
	}
	for left > 0 && !utf8.RuneStart(piece[left]) {
		left--
	}
	r.size += left
	return piece[:left], &TooLongError{r.config.AnswerBytes}
}
