package exec

import (
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxRefused bounds the commands that are remembered.
const maxRefused = 64

// refusedCommands remembers the last commands of which the sandbox seems to have refused a part, until this process
// ends. The zero value is ready to use.
type refusedCommands struct {
	mu   sync.Mutex // guards last
	last []refusedCommand
}

type refusedCommand struct {
	session session.ID
	text    string
}

func (r *refusedCommands) add(id session.ID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := (refusedCommand{id, text}); !slices.Contains(r.last, c) {
		r.last = append(r.last[max(0, len(r.last)+1-maxRefused):], c)
	}
}

func (r *refusedCommands) contains(id session.ID, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.last, refusedCommand{id, text})
}
