package ask

import (
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// running is what the sessions at work in this process use of budgets before the store has it: a turn that waits for a
// subagent is recorded with its cost when that has ended.
type running struct {
	mu       sync.Mutex // held while a turn is checked and admitted
	sessions map[session.ID]runningWork
}

// runningWork is the work of a session on its newest prompt.
type runningWork struct {
	started time.Time
	open    bool        // a turn was admitted
	head    int64       // the newest event then: a later line of the ledger is that of the turn
	cost    session.USD // of the session with the turn, once its answer is complete; the same for tokens
	tokens  int64
}

// readSpent returns what the session itself used, with the answer of its open turn.
func (w *running) readSpent(s *session.Session) (cost session.USD, tokens int64) {
	work := w.sessions[s.ID]
	return max(s.Cost, work.cost), max(s.Tokens.Sum(), work.tokens)
}
