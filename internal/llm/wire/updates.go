package wire

import "github.com/cairn-dev/cairn/internal/llm"

// Updates holds chronological instructions back while the results of calls are to come: they never stand between a call
// and its result.
type Updates struct {
	waiting int // calls that have no result yet
	texts   []string
}

// Called says that so many more calls wait for their results.
func (u *Updates) Called(calls int) { u.waiting += calls }

// Answered says that a result has come.
func (u *Updates) Answered() { u.waiting = max(0, u.waiting-1) }

// Waiting reports whether results are to come.
func (u *Updates) Waiting() bool { return u.waiting > 0 }

// Add keeps an instruction, if it says anything. It reports whether that can be said at once.
func (u *Updates) Add(parts []llm.Part) (now bool) {
	text := Update(parts)
	if text == "" {
		return false
	}
	u.texts = append(u.texts, text)
	return u.waiting == 0
}

// Take returns what was kept, in its order, and begins anew: nothing is waited for any more.
func (u *Updates) Take() []string {
	texts := u.texts
	*u = Updates{}
	return texts
}
