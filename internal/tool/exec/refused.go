package exec

import (
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxRefused bounds the remembered commands, and the sessions with exposed files.
const maxRefused = 64

// refusedCommands remembers, until this process ends, the last commands of which the sandbox seems to have refused a
// part, and what guards of protected files found. The zero value is ready to use.
type refusedCommands struct {
	mu    sync.Mutex // guards the fields below
	last  []refusedCommand
	found map[session.ID]foundChanges
}

// foundChanges are the findings of guards after a session's commands.
type foundChanges struct {
	exposed []string // permission resources of files that a command changed and that were not restored
	late    string   // notes for the model on what processes did after the end of their command
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

// maxLateNotes bounds the notes of a session in bytes.
const maxLateNotes = 4 << 10

// addFound adds findings of a guard. The next command of the session asks for the exposed files, and its result has the
// note if late is set. Of more than maxRefused sessions it forgets one.
func (r *refusedCommands) addFound(id session.ID, note string, late bool, exposed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil {
		r.found = map[session.ID]foundChanges{}
	}
	f := r.found[id]
	for _, name := range exposed {
		if len(f.exposed) < maxRefused && !slices.Contains(f.exposed, name) {
			f.exposed = append(slices.Clip(f.exposed), name)
		}
	}
	if late && len(f.late) < maxLateNotes {
		f.late += " After an earlier command, " + strings.ToValidUTF8(note[:min(len(note), maxLateNotes)], "")
	}
	r.setFound(id, f)
	for other := range r.found {
		if len(r.found) > maxRefused && other != id {
			delete(r.found, other)
		}
	}
}

// setFound sets the findings of a session.
func (r *refusedCommands) setFound(id session.ID, f foundChanges) {
	if len(f.exposed) == 0 && f.late == "" {
		delete(r.found, id)
		return
	}
	r.found[id] = f
}

// dropExposed forgets exposed files of the session, which a person has seen.
func (r *refusedCommands) dropExposed(id session.ID, seen []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.found[id]
	f.exposed = slices.DeleteFunc(slices.Clone(f.exposed), func(name string) bool { return slices.Contains(seen, name) })
	r.setFound(id, f)
}

// listExposed returns the exposed files of the session.
func (r *refusedCommands) listExposed(id session.ID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found[id].exposed
}

// takeNotes returns the late notes of the session and forgets them.
func (r *refusedCommands) takeNotes(id session.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.found[id]
	r.setFound(id, foundChanges{exposed: f.exposed})
	return f.late
}
