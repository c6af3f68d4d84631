package v1

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// notice is what clients tell each other through us: it happens at a place, lives only in the streams that are open, and is
// never kept.
type notice struct {
	directory  string // "" is everywhere
	project    session.ProjectID
	kind       string
	properties any
}

// The kinds of notices that are ours.
const (
	kindDisposed       = "server.instance.disposed"
	kindGlobalDisposed = "global.disposed"
)

// notices hands notices to streams. The zero value is ready; safe for concurrent use.
type notices struct {
	mu   sync.Mutex // guards subs
	subs map[chan notice]struct{}
}

// maxNotices is how many may wait for a stream whose reader is slow. Further ones are not for it.
const maxNotices = 64

// watch returns the notices from now on, until stop is called, which ends them.
func (n *notices) watch() (ch <-chan notice, stop func()) {
	c := make(chan notice, maxNotices)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs == nil {
		n.subs = map[chan notice]struct{}{}
	}
	n.subs[c] = struct{}{}
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs, c)
		close(c)
	}
}

func (n *notices) tell(v notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.subs {
		select {
		case c <- v:
		default:
		}
	}
}

// relay sends notices to the reader until they end.
func (b *bus) relay(ch <-chan notice) {
	for n := range ch {
		for _, n := range b.unfold(n) {
			if !b.global && n.directory != b.only {
				continue
			}
			var v any = busEvent{b.api.ids.New(session.PrefixEvent), n.kind, n.properties}
			if b.global {
				v = placed{Directory: n.directory, Project: n.project, Payload: v}
			}
			if f, err := encoded(v); err == nil {
				_ = b.out.Send(f, false) // a reader that is gone ends the stream
			}
		}
	}
}

// everything is the directory of what is said of none.
const everything = "global"

// unfold makes one notice of every directory those that the reader waits for: of its own directory, or of the one that the
// notice names and of everything, as OpenCode's clients look for both.
func (b *bus) unfold(n notice) []notice {
	if n.kind != kindGlobalDisposed {
		return []notice{n}
	}
	if !b.global {
		return []notice{{b.only, "", kindDisposed, disposedPlace{b.only}}}
	}
	all := notice{directory: everything, kind: n.kind, properties: n.properties}
	if n.directory == "" {
		return []notice{all}
	}
	return []notice{{n.directory, n.project, kindDisposed, disposedPlace{n.directory}}, all}
}
