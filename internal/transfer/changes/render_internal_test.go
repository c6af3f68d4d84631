package changes

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// What waits for an answer is bounded: the messages behind the newest answer, and no more than maxHeld.
func TestHeldMessagesAreBounded(t *testing.T) {
	t.Parallel()
	prompts := func(n int) (out []session.Message) {
		for range n {
			out = append(out, &session.User{})
		}
		return out
	}
	answered := append(prompts(2), &session.Assistant{}, &session.Assistant{}, &session.User{})
	for name, c := range map[string]struct {
		held []session.Message
		want int
	}{
		"nothing":          {nil, 0},
		"without answer":   {prompts(3), 0},
		"one prompt waits": {answered, 4},
		"too many":         {prompts(maxHeld), maxHeld},
	} {
		if got := findReady(c.held); got != c.want {
			t.Errorf("%s: %d are ready, want %d", name, got, c.want)
		}
	}
}
