package server

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// peer is the other end of a connection.
type peer struct {
	unix     bool
	sameUser bool // of a unix socket: by the kernel, or by the mode of the socket where the kernel does not tell
	pid      int  // of a unix socket; 0: unknown
	loopback bool
	local    net.Addr
	remote   net.Addr

	once    sync.Once // guards verdict: it takes a look at every process, so one per connection
	verdict identity
}

// identity is what the kernel says about a loopback peer.
type identity int

const (
	identityUnknown identity = iota // another user, or unknown
	identityUser                    // of the same user
	identityTool                    // of the same user, but of a tool's process tree
)

type peerKey struct{}

// peerOf returns the peer of the connection, an unknown one for a request without a connection.
func peerOf(r *http.Request) *peer {
	if p, ok := r.Context().Value(peerKey{}).(*peer); ok {
		return p
	}
	return &peer{}
}

// peerResolver determines the identity of peers.
type peerResolver struct {
	toolProcess func(pid int) bool
	proc        procFS
}

func newPeerResolver(toolProcess func(pid int) bool) peerResolver {
	if toolProcess == nil {
		toolProcess = func(int) bool { return false }
	}
	return peerResolver{toolProcess, newProcFS()}
}

// withPeer stores the peer of a connection in its context.
func (ps peerResolver) withPeer(ctx context.Context, c net.Conn) context.Context {
	if l, ok := c.(*limitedConn); ok {
		c = l.Conn
	}
	p := &peer{local: c.LocalAddr(), remote: c.RemoteAddr()}
	switch c := c.(type) {
	case *net.UnixConn:
		p.unix = true
		p.pid, p.sameUser = peerCredentials(c)
	case *net.TCPConn:
		if a, ok := p.remote.(*net.TCPAddr); ok {
			p.loopback = a.IP.IsLoopback()
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// isTool reports whether the peer is known to be a process of a tool.
func (ps peerResolver) isTool(p *peer) bool { return ps.findIdentity(p) == identityTool }

// findIdentity returns the peer's identity.
func (ps peerResolver) findIdentity(p *peer) identity {
	p.once.Do(func() {
		switch {
		case p.unix && p.pid != 0:
			p.verdict = ps.classifyHolders([]int{p.pid})
		case p.unix && p.sameUser:
			p.verdict = identityUser
		case p.loopback:
			p.verdict = ps.classifyHolders(ps.proc.findOwners(p.remote, p.local))
		}
	})
	return p.verdict
}

// classifyHolders returns the identity of a socket that the processes hold. One process of a tool makes it a tool.
func (ps peerResolver) classifyHolders(pids []int) identity {
	if len(pids) == 0 {
		return identityUnknown
	}
	for _, pid := range pids {
		if ps.proc.isFromTool(pid, ps.toolProcess) {
			return identityTool
		}
	}
	return identityUser
}
