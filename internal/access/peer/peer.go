// Package peer identifies the process at the other end of a connection: the user's, or one of a tool. It also keeps this
// process from being read by others of the user.
package peer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Peer is the other end of a connection.
type Peer struct {
	// Unix: the connection is one of a unix socket. SameUser and Process are of those only; SameUser holds by the
	// kernel, or by the mode of the socket where the kernel does not tell.
	Unix       bool
	SameUser   bool
	Process    ConnectedProcess
	Loopback   bool
	LocalAddr  net.Addr
	RemoteAddr net.Addr

	once    sync.Once // guards verdict: it takes a look at every process, so one per connection
	verdict Identity
}

// Errors of ConnectedProcess.CheckMark.
var (
	ErrTool   = errors.New("a command of a tool started it")
	ErrHidden = errors.New("it is in another process namespace")
	ErrExited = errors.New("it has exited")
)

// Identity is the kernel's answer about a peer.
type Identity int

const (
	// Unknown: a process of this machine that may be one of a tool. It is refused, whatever credential it has.
	Unknown Identity = iota
	// Remote: not a process of this user on this machine, or this system does not tell. A credential decides.
	Remote
	User // a process of the user that no tool started
	Tool // a process of a tool
	// Unread: this process has no file descriptor left to look at the peer. It is refused; another connection may tell.
	Unread
)

type peerKey struct{}

// FromRequest returns the peer of the connection, an unknown one for a request without a connection.
func FromRequest(r *http.Request) *Peer {
	if p, ok := r.Context().Value(peerKey{}).(*Peer); ok {
		return p
	}
	return &Peer{}
}

// Resolver determines the identity of peers.
type Resolver struct {
	toolProcess func(pid int) bool
	proc        procFS
}

// NewResolver returns a resolver. toolProcess reports whether a tool started a process; nil: none.
func NewResolver(toolProcess func(pid int) bool) Resolver {
	if toolProcess == nil {
		toolProcess = func(int) bool { return false }
	}
	return Resolver{toolProcess, newProcFS()}
}

// NewContext stores the peer of a connection in its context.
func NewContext(ctx context.Context, c net.Conn) context.Context {
	p := &Peer{LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr()}
	switch c := c.(type) {
	case *net.UnixConn:
		p.Unix = true
		p.Process, p.SameUser = ReadCredentials(c)
	case *net.TCPConn:
		if a, ok := p.RemoteAddr.(*net.TCPAddr); ok {
			p.Loopback = a.IP.IsLoopback()
		}
	}
	return WithPeer(ctx, p)
}

// WithPeer stores the peer of a request in its context.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// FindIdentity returns the peer's identity. It is found once per connection: a connection that a process of the user
// hands to a tool later remains the user's.
func (ps Resolver) FindIdentity(p *Peer) Identity {
	p.once.Do(func() {
		defer p.Process.Close()
		switch {
		case p.Unix:
			p.verdict = ps.proc.identifyProcess(p.Process, ps.toolProcess)
		case p.isLocal():
			p.verdict = ps.proc.identifyHolder(p.RemoteAddr, p.LocalAddr, ps.toolProcess)
		default:
			p.verdict = Remote
		}
		if p.verdict == Unknown && lacksDescriptors() {
			p.verdict = Unread
		}
	})
	return p.verdict
}

// isLocal reports whether the connection comes from this machine: from loopback or from an address of an interface.
func (p *Peer) isLocal() bool {
	from, ok := p.RemoteAddr.(*net.TCPAddr)
	if !ok || p.Loopback {
		return ok
	}
	if to, ok := p.LocalAddr.(*net.TCPAddr); ok && to.IP.Equal(from.IP) {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(from.IP)
	})
}
