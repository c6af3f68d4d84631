package ask

import (
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// liveUsage is the use of budgets that the store does not have yet, of the sessions at work in this process. A turn
// that waits for a subagent is recorded with its cost only when the subagent has ended.
type liveUsage struct {
	mu       sync.Mutex // held while a turn is checked and admitted
	sessions map[session.ID]liveWork
}

// liveWork is the work of a session on its newest prompt.
type liveWork struct {
	started time.Time
	open    bool        // a turn was admitted
	head    int64       // the newest event then: a later line of the spend is that of the turn
	cost    session.USD // of the session with the turn, once its answer is complete; the same for tokens
	tokens  int64
}

// readSpent returns what the session itself used, with the answer of its open turn.
func (w *liveUsage) readSpent(s *session.Session) (cost session.USD, tokens int64) {
	work := w.sessions[s.ID]
	return max(s.Cost, work.cost), max(s.Tokens.Sum(), work.tokens)
}
