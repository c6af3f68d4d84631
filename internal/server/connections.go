package server

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// strangerTimeout bounds the life of a connection without an authenticated request. A wrong guess waits
// at most half of it.
const strangerTimeout = 10 * time.Second

// connectionPool bounds the open connections of a listener. A connection is a stranger until one of its requests is
// authenticated. Strangers are counted apart, live for strangerTimeout, and the oldest one makes room for the next: so
// they take no connection from callers that are known. Strangers of this machine, which may be the user's and wait to
// be identified, are counted apart from the others, so that a burst of them closes none.
type connectionPool struct {
	limit int // of known connections, and of local strangers; of remote strangers a quarter, at least one

	mu            sync.Mutex // guards the rest
	known         int
	local, remote list.List // strangers: *limitedConn, the oldest first
}

// limitListener bounds the open connections. If all are in use by known callers, it closes further ones at once.
type limitListener struct {
	net.Listener
	pool *connectionPool
}

// Accept returns the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
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
func (p *connectionPool) add(c net.Conn) *limitedConn {
	conn := &limitedConn{Conn: c, pool: p, strangers: &p.local}
	limit := p.limit
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		conn.strangers, limit = &p.remote, max(p.limit/4, 1)
	}
	p.mu.Lock()
	if p.known >= p.limit {
		p.mu.Unlock()
		return nil
	}
	var oldest *limitedConn
	if conn.strangers.Len() >= limit {
		oldest = conn.strangers.Front().Value.(*limitedConn)
		conn.strangers.Remove(oldest.place)
		oldest.place = nil
	}
	conn.place = conn.strangers.PushBack(conn)
	conn.expiry = time.AfterFunc(strangerTimeout, func() { conn.closeStranger() })
	p.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return conn
}

// limitedConn is a connection that its pool counts.
type limitedConn struct {
	net.Conn
	pool      *connectionPool
	strangers *list.List    // of the pool, for a connection from here
	expiry    *time.Timer   // closes a stranger
	place     *list.Element // among the strangers; nil of a known connection; pool.mu guards it
	known     bool          // pool.mu guards it
}

// makeKnown counts the connection among those of known callers. It reports false if they use all.
func (c *limitedConn) makeKnown() bool {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.known:
		return true
	case p.known >= p.limit || c.place == nil: // closed in the meantime
		return false
	}
	c.expiry.Stop()
	c.strangers.Remove(c.place)
	c.place, c.known = nil, true
	p.known++
	return true
}

// suspendExpiry keeps a stranger open until the returned function gives it its time again.
func (c *limitedConn) suspendExpiry() (resume func()) {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	c.expiry.Stop()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.place != nil {
			c.expiry.Reset(strangerTimeout)
		}
	}
}

func (c *limitedConn) isKnown() bool {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.known
}

func (c *limitedConn) closeStranger() {
	if !c.isKnown() {
		_ = c.Close()
	}
}

// Close closes the connection and gives its place to another one.
func (c *limitedConn) Close() error {
	p := c.pool
	p.mu.Lock()
	c.expiry.Stop()
	if c.place != nil {
		c.strangers.Remove(c.place)
		c.place = nil
	}
	if c.known {
		p.known--
		c.known = false
	}
	p.mu.Unlock()
	return c.Conn.Close()
}

// connectionKey is the key of a connection in the context of its requests.
type connectionKey struct{}
