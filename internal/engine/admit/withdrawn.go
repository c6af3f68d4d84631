package admit

import (
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxWithdrawn bounds the ids that are remembered.
const maxWithdrawn = 1024

// withdrawnIDs holds the ids of the prompts that this process has seen withdrawn last. A client that lost its
// connection sends its prompt again, and does not know that it was withdrawn meanwhile. Safe for concurrent use.
type withdrawnIDs struct {
	mu  sync.Mutex
	ids []session.MessageID // the newest last
}

func (w *withdrawnIDs) add(id session.MessageID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = append(w.ids, id)
	w.ids = w.ids[max(len(w.ids)-maxWithdrawn, 0):]
}

// check returns a conflict for a withdrawn prompt.
func (w *withdrawnIDs) check(id session.MessageID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.ids, id) {
		return session.Conflict("message", string(id), "was withdrawn; use a new id for a new prompt")
	}
	return nil
}
