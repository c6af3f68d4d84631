package exec

import (
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxRefused bounds the remembered commands, and the sessions with exposed files.
const maxRefused = 64

// refusedCommands remembers, until this process ends, the last commands of which the sandbox seems to have refused a
// part, and by session the protected files that its last command changed and that could not be restored. The zero value
// is ready to use.
type refusedCommands struct {
	mu      sync.Mutex // guards both
	last    []refusedCommand
	exposed map[session.ID][]string // permission resources
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

// addExposed adds exposed files of the session: those that a command changed and that were not restored. The next
// command asks for them. With too many sessions it forgets all others.
func (r *refusedCommands) addExposed(id session.ID, files []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exposed == nil || len(r.exposed) > maxRefused {
		r.exposed = map[session.ID][]string{}
	}
	if len(files) > 0 {
		r.exposed[id] = append(r.exposed[id], files[:min(len(files), maxRefused)]...)
	}
}

// dropExposed forgets the exposed files of the session, which a person has seen.
func (r *refusedCommands) dropExposed(id session.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.exposed, id)
}

// listExposed returns the exposed files of the session.
func (r *refusedCommands) listExposed(id session.ID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exposed[id]
}
