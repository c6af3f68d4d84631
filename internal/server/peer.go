package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// peer is the other end of a connection.
type peer struct {
	unix     bool
	sameUser bool          // of a unix socket: by the kernel, or by the mode of the socket where the kernel does not tell
	process  processHandle // of a unix socket: who connected
	loopback bool
	local    net.Addr
	remote   net.Addr

	once    sync.Once // guards verdict: it takes a look at every process, so one per connection
	verdict identity
}

// identity is what the kernel says about a peer.
type identity int

const (
	// identityUnknown: a process of this machine that may be one of a tool. It is refused, whatever credential it has.
	identityUnknown identity = iota
	// identityRemote: not a process of this user on this machine, or this system does not tell. A credential decides.
	identityRemote
	identityUser // a process of the user that no tool started
	identityTool // a process of a tool
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
		p.process, p.sameUser = peerCredentials(c)
	case *net.TCPConn:
		if a, ok := p.remote.(*net.TCPAddr); ok {
			p.loopback = a.IP.IsLoopback()
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// findIdentity returns the peer's identity. It is found once per connection: a connection that a process of the user
// hands to a tool later remains the user's.
func (ps peerResolver) findIdentity(p *peer) identity {
	p.once.Do(func() {
		defer p.process.Close()
		switch {
		case p.unix:
			p.verdict = ps.proc.identifyProcess(p.process, ps.toolProcess)
		case p.isLocal():
			p.verdict = ps.proc.identifyHolder(p.remote, p.local, ps.toolProcess)
		default:
			p.verdict = identityRemote
		}
	})
	return p.verdict
}

// isLocal reports whether the connection comes from this machine: from loopback or from an address of an interface.
func (p *peer) isLocal() bool {
	from, ok := p.remote.(*net.TCPAddr)
	if !ok || p.loopback {
		return ok
	}
	if to, ok := p.local.(*net.TCPAddr); ok && to.IP.Equal(from.IP) {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(from.IP)
	})
}
