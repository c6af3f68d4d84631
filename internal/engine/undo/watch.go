package undo

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// watches are the commands that run now, by the root of their worktree.
type watches struct {
	mu     sync.Mutex // guards the rest, and the watches in byRoot
	byRoot map[string][]*watch
	recent []recentWrite // oldest first

	captures sync.Map // locks, as chan struct{} of capacity 1, by root; see lockCaptures
}

// lockCaptures waits until no other capture of the worktree is made or recorded, so that captures are recorded in the
// order in which they are made. Its error is the cause of ctx's end: a capture of a large worktree takes long, and a
// call that waits for it can be interrupted.
func (s *watches) lockCaptures(ctx context.Context, root string) (unlock func(), err error) {
	v, _ := s.captures.LoadOrStore(root, make(chan struct{}, 1))
	lock := v.(chan struct{})
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// recentWrite is a write that a file tool announced less than writeTime ago. The write may not have been made yet.
type recentWrite struct {
	id     session.ID
	root   string
	change session.FileChange
	at     time.Time
}

// writeTime bounds the time from the announcement of a write to the write itself.
const writeTime = 2 * time.Second

// watch is the time from the capture before a command to the capture after it.
type watch struct {
	root    string
	id      session.ID
	written []recentWrite // by file tools of all sessions during the watch, in their order
	beside  []session.ID  // other sessions whose commands ran during it
	// captures are those of other commands during it, each once, at most maxCaptures.
	captures []string
	// announced are writes of other sessions that may be made during the watch, just as they are.
	announced []recentWrite
}

// startWatch begins a watch. A capture shows what changed, not which of several commands changed it, so each watch
// notes the sessions of the others that run at the same time.
func (s *watches) startWatch(root string, id session.ID) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{root: root, id: id}
	// Note the sessions in each other's watches.
	for _, other := range s.byRoot[root] {
		if other.id != id {
			w.addBeside(other.id)
			other.addBeside(id)
		}
	}
	// Note the writes that may still be made.
	s.forgetOldWrites()
	for _, r := range s.recent {
		if r.root == root && r.id != id { // a later call of the same session begins when the write is made
			w.announced = append(w.announced, r)
		}
	}
	s.byRoot[root] = append(s.byRoot[root], w)
	return w
}

func (s *watches) forgetOldWrites() {
	s.recent = slices.DeleteFunc(s.recent, func(r recentWrite) bool { return time.Since(r.at) > writeTime })
}

// maxCaptures bounds the captures that the one after a command is compared with.
const maxCaptures = 16

// noteCapture adds a capture of the worktree, which was made for the beginning or end of the watch w, to the other
// watches.
func (s *watches) noteCapture(w *watch, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.captures = nil // those before its beginning
	for _, other := range s.byRoot[w.root] {
		if other != w && len(other.captures) < maxCaptures && !slices.Contains(other.captures, name) {
			other.captures = append(other.captures, name)
		}
	}
}

func (w *watch) addBeside(id session.ID) {
	if !slices.Contains(w.beside, id) {
		w.beside = append(w.beside, id)
	}
}

// endWatch ends the watch: w does not change afterwards.
func (s *watches) endWatch(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byRoot[w.root] = slices.DeleteFunc(s.byRoot[w.root], func(o *watch) bool { return o == w })
	if len(s.byRoot[w.root]) == 0 {
		delete(s.byRoot, w.root)
	}
}

// dropWritten returns the changes without those that file tools made during the watch, which has ended. A file that
// differs from what they found or left was changed by the command as well: its change stays. If the change equals a
// write that another session announced before the watch, it is that session's or the command's: it is removed, and the
// watch notes that session in beside.
func (w *watch) dropWritten(found []session.FileChange) []session.FileChange {
	return slices.DeleteFunc(found, func(f session.FileChange) bool {
		// A write announced before the watch explains the change.
		for _, a := range w.announced {
			if a.change.Path == f.Path && a.change.Before == f.Before && a.change.After == f.After {
				w.addBeside(a.id)
				return true
			}
		}
		// Follow the writes during the watch from the state before it. explained: each began where the one before ended.
		state, wrote := f.Before, false
		explained := true
		for _, a := range w.written {
			if a.change.Path != f.Path {
				continue
			}
			explained, wrote = explained && a.change.Before == state, true
			state = a.change.After
		}
		if !wrote {
			return false
		}
		if explained && state == f.After {
			return true
		}
		// The command changed the file as well: the sessions that wrote it share the change.
		for _, a := range w.written {
			if a.change.Path == f.Path && a.id != w.id {
				w.addBeside(a.id)
			}
		}
		return false
	})
}

// excludeWrites notes files that a file tool is going to write, so that they are not recorded as changes of commands
// that run meanwhile.
func (s *watches) excludeWrites(id session.ID, root string, files []session.FileChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOldWrites()
	for _, f := range files {
		s.recent = append(s.recent, recentWrite{id, root, f, time.Now()})
	}
	for _, w := range s.byRoot[root] {
		for _, f := range files {
			w.written = append(w.written, recentWrite{id, root, f, time.Now()})
		}
	}
}
