// Package connlimit bounds the open connections of a server.
package connlimit

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"
)

// strangerTimeout bounds the life of a connection without an authenticated request. It is at least twice the delay of
// the answer to a wrong password.
const strangerTimeout = 10 * time.Second

// pool bounds the open connections of a listener. A connection is a stranger until one of its requests is
// authenticated, then it is known. Strangers are counted apart from known connections and live for strangerTimeout; if
// there are too many, the oldest one is closed. So they take no connection from callers that are known. Strangers from
// this machine are counted apart from remote ones: they may be the user's and wait to be identified.
type pool struct {
	limit int // of known connections, and of local strangers; remote strangers have a quarter of it, at least one

	mu            sync.Mutex // guards the rest
	known         int
	local, remote list.List // strangers: *Conn, the oldest first
}

// Listener bounds the open connections of another listener. If all are in use by known callers, it closes further ones
// at once. A server that uses it has WithConn as its ConnContext.
type Listener struct {
	net.Listener
	pool *pool
}

// NewListener returns a listener with at most limit known connections, and as many strangers of this machine.
func NewListener(l net.Listener, limit int) *Listener { return &Listener{l, &pool{limit: limit}} }

// HasKnown reports whether a known connection is open.
func (l *Listener) HasKnown() bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.pool.known > 0
}

// Accept returns the next connection within the limit.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := l.pool.add(c); conn != nil {
			return conn, nil
		}
		_ = c.Close()
	}
}

// add returns the connection of a stranger; nil if known callers use all connections.
func (p *pool) add(c net.Conn) *Conn {
	conn := &Conn{Conn: c, pool: p, strangers: &p.local}
	limit := p.limit
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		conn.strangers, limit = &p.remote, max(p.limit/4, 1)
	}
	// Refuse the connection if known ones use all.
	p.mu.Lock()
	if p.known >= p.limit {
		p.mu.Unlock()
		return nil
	}
	// Add it, in place of the oldest stranger if there are too many.
	var oldest *Conn
	if conn.strangers.Len() >= limit {
		oldest = conn.strangers.Front().Value.(*Conn)
		conn.strangers.Remove(oldest.element)
		oldest.element = nil
	}
	conn.element = conn.strangers.PushBack(conn)
	conn.expiry = time.AfterFunc(strangerTimeout, func() { conn.closeStranger() })
	p.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return conn
}

// Conn is a connection that its listener counts.
type Conn struct {
	net.Conn  // the connection without its bounds
	pool      *pool
	strangers *list.List    // the list of the pool that the connection is in while it is a stranger
	expiry    *time.Timer   // closes a stranger
	element   *list.Element // of strangers; nil if the connection is known or closed; pool.mu guards it
	known     bool          // pool.mu guards it
}

// MakeKnown counts the connection as known. It reports false if known connections use all, or if it was closed.
func (c *Conn) MakeKnown() bool {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.known:
		return true
	case p.known >= p.limit || c.element == nil: // closed in the meantime
		return false
	}
	c.expiry.Stop()
	c.strangers.Remove(c.element)
	c.element, c.known = nil, true
	p.known++
	return true
}

// SuspendExpiry stops the time of a stranger. resume starts it again, with the whole strangerTimeout.
func (c *Conn) SuspendExpiry() (resume func()) {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	c.expiry.Stop()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.element != nil {
			c.expiry.Reset(strangerTimeout)
		}
	}
}

// IsKnown reports whether the connection counts as known.
func (c *Conn) IsKnown() bool {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.known
}

// closeStranger closes the connection, unless it is known.
func (c *Conn) closeStranger() {
	p := c.pool
	p.mu.Lock()
	isStranger := c.element != nil
	if isStranger { // from now on MakeKnown reports false
		c.strangers.Remove(c.element)
		c.element = nil
	}
	p.mu.Unlock()
	if isStranger {
		_ = c.Close()
	}
}

// Close closes the connection and removes it from the pool.
func (c *Conn) Close() error {
	p := c.pool
	p.mu.Lock()
	c.expiry.Stop()
	if c.element != nil {
		c.strangers.Remove(c.element)
		c.element = nil
	}
	if c.known {
		p.known--
		c.known = false
	}
	p.mu.Unlock()
	return c.Conn.Close()
}

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// WithConn stores a connection in the context of its requests.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// FromContext returns the connection of a request. ok is false without one of a Listener.
func FromContext(ctx context.Context) (c *Conn, ok bool) {
	c, ok = ctx.Value(connKey{}).(*Conn)
	return c, ok
}
