package v1

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// notice is an event that clients and the server send to the open streams of a directory. It is never stored.
type notice struct {
	directory  string // "": every directory
	project    session.ProjectID
	kind       string
	properties any
}

// The kinds of the server's own notices.
const (
	kindDisposed       = "server.instance.disposed"
	kindGlobalDisposed = "global.disposed"
	kindBranch         = "vcs.branch.updated"
)

// maxNotices is how many notices wait for a slow stream. It misses further ones.
const maxNotices = 64

// notices sends notices to streams. The zero value is ready for use. It is safe for concurrent use.
type notices struct {
	mu   sync.Mutex // guards subs
	subs map[chan notice]struct{}
}

// subscribe returns the notices from now on. stop closes the channel.
func (n *notices) subscribe() (ch <-chan notice, stop func()) {
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

// publish sends a notice to all streams.
func (n *notices) publish(v notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.subs {
		select {
		case c <- v:
		default:
		}
	}
}

// instance names what clients have to read again.
type instance struct {
	Directory string `json:"directory"`
}

// publishDisposed tells the streams of a location to read it again.
func (n *notices) publishDisposed(l *Location) {
	n.publish(notice{l.Directory, l.ProjectID, kindDisposed, instance{l.Directory}})
}

// publishGlobalDisposed tells all streams to read everything again. l is the location of the client, nil if unknown.
func (n *notices) publishGlobalDisposed(l *Location) {
	v := notice{kind: kindGlobalDisposed, properties: emptyObject{}}
	if l != nil {
		v.directory, v.project = l.Directory, l.ProjectID
	}
	n.publish(v)
}

// emptyObject has no members.
type emptyObject struct{}

// branchUpdated are the properties of kindBranch.
type branchUpdated struct {
	Branch string `json:"branch,omitzero"`
}
