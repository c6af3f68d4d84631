package v1

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// kindBranch says what is checked out now.
const kindBranch = "vcs.branch.updated"

type branchUpdated struct {
	Branch string `json:"branch,omitzero"`
}

// heads watches what is checked out while streams are open: in the directories of the streams, and where clients asked for the
// branch. One goroutine looks, however many readers there are: a look at a directory reads one small file. The zero value is
// ready; safe for concurrent use.
type heads struct {
	mu      sync.Mutex // guards the rest
	readers int
	seen    map[string]string // by directory, as git has it
	order   []string          // of the directories, the one longest known first
	end     func()            // stops the looking, and waits for it
}

const (
	maxHeads  = 64          // directories that are watched; of more, the newest
	headsPace = time.Second // between looks
)

// join is told of a reader, with the directory that it is about. Leave ends it.
func (h *heads) join(ctx context.Context, a *API, directory string) (leave func()) {
	h.know(a, directory)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers++; h.readers == 1 {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it belongs to all readers, not to the first
		var looks sync.WaitGroup
		looks.Go(func() { h.watch(ctx, a) })
		h.end = func() { cancel(); looks.Wait() }
	}
	return h.leave
}

func (h *heads) leave() {
	h.mu.Lock()
	end := h.end
	if h.readers--; h.readers > 0 {
		end = func() {}
	} else {
		h.seen, h.order, h.end = nil, nil, nil
	}
	h.mu.Unlock()
	end()
}

// know watches the directory from now on: whoever listens, or does so later, is told what changed since.
func (h *heads) know(a *API, directory string) {
	head := a.head(directory)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.seen[directory]; known || head == "" {
		return
	}
	if h.seen == nil {
		h.seen = map[string]string{}
	}
	h.seen[directory] = head
	if h.order = append(h.order, directory); len(h.order) > maxHeads {
		delete(h.seen, h.order[0])
		h.order = h.order[1:]
	}
}

func (h *heads) watch(ctx context.Context, a *API) {
	pace := time.NewTicker(headsPace)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		h.mu.Lock()
		directories := h.order[:len(h.order):len(h.order)]
		h.mu.Unlock()
		for _, d := range directories {
			if head := a.head(d); h.changed(d, head) {
				a.switched(ctx, d, head)
			}
		}
	}
}

// changed notes what is checked out, and reports whether that is news. A checkout that is gone, or about to be another, is none.
func (h *heads) changed(directory, head string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, known := h.seen[directory]
	if !known || head == "" || head == was {
		return false
	}
	h.seen[directory] = head
	return true
}

// switched tells the streams that something else is checked out: no branch if a commit is.
func (a *API) switched(ctx context.Context, directory, head string) {
	p, err := a.places.Place(ctx, session.Location{Directory: directory})
	if err != nil {
		return
	}
	branch, ok := strings.CutPrefix(head, "ref: refs/heads/")
	if !ok {
		branch = ""
	}
	a.notices.tell(notice{directory, p.ProjectID, kindBranch, branchUpdated{branch}})
}
