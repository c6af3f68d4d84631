package host

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// worktreeLocks says what is done with the worktrees of repositories, by their directories without links. A change has a
// worktree for itself; any number of moves can take changes of sessions out of one or into it meanwhile, but not while it is
// removed or reset, which would lose them.
type worktreeLocks struct {
	mu      sync.Mutex        // guards the fields below
	changes map[string]string // what is done, such as beingRemoved
	moves   map[string]int    // moves that read or write there
}

// What is done with a worktree.
const (
	beingMade     = "being made"
	beingPrepared = "being prepared"
	beingRemoved  = "being removed"
	beingReset    = "being reset"
)

func newWorktreeLocks() *worktreeLocks {
	return &worktreeLocks{changes: map[string]string{}, moves: map[string]int{}}
}

// occupy keeps others from changing a worktree until leave is called.
func (l *worktreeLocks) occupy(directory, what string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.changes[directory]
	if now == "" && l.moves[directory] > 0 && (what == beingRemoved || what == beingReset) {
		now = "used by a move of a session"
	}
	if now != "" {
		return nil, occupiedError(directory, now)
	}
	l.changes[directory] = what
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.changes, directory)
	}), nil
}

// occupyForMove keeps worktrees from being removed or reset until leave is called.
func (l *worktreeLocks) occupyForMove(directories ...string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range directories {
		if now := l.changes[d]; now == beingRemoved || now == beingReset {
			return nil, occupiedError(d, now)
		}
	}
	for _, d := range directories {
		l.moves[d]++
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, d := range directories {
			if l.moves[d]--; l.moves[d] == 0 {
				delete(l.moves, d)
			}
		}
	}), nil
}

// describeAs replaces what is done with an occupied worktree.
func (l *worktreeLocks) describeAs(directory, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes[directory] = what
}

// isOccupied reports whether a worktree is being changed.
func (l *worktreeLocks) isOccupied(directory string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes[directory] != ""
}

func occupiedError(directory, now string) error {
	return session.Errorf(session.CodeConflict, "the worktree %s is %s; try again when that has ended", directory, now).
		At("directory")
}
