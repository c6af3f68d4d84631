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
	root   string
	id     session.ID
	others []session.FilePath
	beside []session.ID
}

// startWatch begins a watch. Watches of other sessions at the same time may see its changes, and it theirs.
func (r *watches) startWatch(root string, id session.ID) *watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &watch{root: root, id: id}
	for _, other := range r.byRoot[root] {
		if other.id != id {
			w.addBeside(other.id)
			other.addBeside(id)
		}
	}
	r.byRoot[root] = append(r.byRoot[root], w)
	return w
}

func (w *watch) addBeside(id session.ID) {
	if !slices.Contains(w.beside, id) {
		w.beside = append(w.beside, id)
	}
}

// endWatch ends the watch and returns the paths that other calls wrote during it, and the sessions whose commands ran
// at the same time.
func (r *watches) endWatch(w *watch) (others []session.FilePath, beside []session.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byRoot[w.root] = slices.DeleteFunc(r.byRoot[w.root], func(o *watch) bool { return o == w })
	if len(r.byRoot[w.root]) == 0 {
		delete(r.byRoot, w.root)
	}
	slices.Sort(w.others)
	return slices.Compact(w.others), w.beside
}

// excludeWrites takes the files out of what the commands that run now are held to have changed.
func (r *watches) excludeWrites(root string, files []session.FileChange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.byRoot[root] {
		for _, f := range files {
			w.others = append(w.others, f.Path)
		}
	}
}
