package changes

import (
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// watches are the commands that run now, by the root of their worktree.
type watches struct {
	mu     sync.Mutex // guards byRoot and the watches in it
	byRoot map[string][]*watch
}

// watch is the time from the capture before a command to the capture after it.
type watch struct {
	root    string
	id      session.ID
	written []session.FilePath // by file tools of all sessions during the watch
	beside  []session.ID       // other sessions whose commands ran during it
}

// startWatch begins a watch. The command may be blamed for changes of other sessions' commands that run at the same
// time, and theirs for its changes, so each watch notes the other session.
func (s *watches) startWatch(root string, id session.ID) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{root: root, id: id}
	for _, other := range s.byRoot[root] {
		if other.id != id {
			w.addBeside(other.id)
			other.addBeside(id)
		}
	}
	s.byRoot[root] = append(s.byRoot[root], w)
	return w
}

func (w *watch) addBeside(id session.ID) {
	if !slices.Contains(w.beside, id) {
		w.beside = append(w.beside, id)
	}
}

// endWatch ends the watch. It returns the paths, sorted, that file tools wrote during it, and the other sessions whose
// commands ran during it.
func (s *watches) endWatch(w *watch) (written []session.FilePath, beside []session.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byRoot[w.root] = slices.DeleteFunc(s.byRoot[w.root], func(o *watch) bool { return o == w })
	if len(s.byRoot[w.root]) == 0 {
		delete(s.byRoot, w.root)
	}
	slices.Sort(w.written)
	return slices.Compact(w.written), w.beside
}

// excludeWrites notes files that a file tool writes, so that they are not recorded as changes of commands that run now.
func (s *watches) excludeWrites(root string, files []session.FileChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.byRoot[root] {
		for _, f := range files {
			w.written = append(w.written, f.Path)
		}
	}
}
