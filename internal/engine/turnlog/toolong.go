package turnlog

import (
	"fmt"
)

// TooLongError ends an answer with more bytes than its limit. What fits is recorded.
type TooLongError struct{ Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the model's answer is longer than %d bytes, the limit (limits.answer); "+
		"the part before the limit is stored", e.Limit)
}
