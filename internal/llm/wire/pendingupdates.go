package wire

import "github.com/cairn-dev/cairn/internal/llm"

// PendingUpdates holds back instructions in the middle of a conversation until the results of all calls are there:
// vendors refuse a message between a call and its result.
type PendingUpdates struct {
	waiting int // calls that have no result yet
	texts   []string
}

// AddCalls adds calls whose results are missing.
func (u *PendingUpdates) AddCalls(calls int) { u.waiting += calls }

// MarkAnswered records one result.
func (u *PendingUpdates) MarkAnswered() { u.waiting = max(0, u.waiting-1) }

// IsWaiting reports whether results are missing.
func (u *PendingUpdates) IsWaiting() bool { return u.waiting > 0 }

// Add keeps an instruction if it has text. It reports whether the instruction can be sent at once.
func (u *PendingUpdates) Add(parts []llm.Part) (now bool) {
	text := FormatUpdate(parts)
	if text == "" {
		return false
	}
	u.texts = append(u.texts, text)
	return u.waiting == 0
}

// TakeTexts returns the kept instructions in order and resets u: it then waits for no results.
func (u *PendingUpdates) TakeTexts() []string {
	texts := u.texts
	*u = PendingUpdates{}
	return texts
}
