// Package lsp runs language servers: it starts them when a file of theirs is used, sends them what changes, and asks
// them for errors, symbols and places.
//
// Servers are shared by all sessions of a location, bounded in number and memory, and ended when they are idle. Nothing
// is downloaded. Every wait is bounded by the caller, and everything that a server sends is bounded here. A server
// never changes files.
package lsp

import (
	"context"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/location/program"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Options configure a Manager.
type Options struct {
	Directory   string // of the location: absolute, without links
	Worktree    string // contains Directory; "" is Directory. Roots are sought up to it
	Servers     []Server
	Trusted     bool // the project's configuration is trusted: its programs, and servers that run its code, are used
	Environment process.Environment
	Supervisor  []string      // process.SupervisorCommand
	Limits      *Limits       // shared with other managers; nil: its own
	Idle        time.Duration // after which a server without use is ended; 0 is 10 minutes

	// OnChange is called when Status has changed, without locks. It must not block. It may be nil.
	OnChange func()
}

// Limits bound the language servers of all managers that share them.
type Limits struct {
	Servers int   // at a time; 0 is 16
	Memory  int64 // bytes of a server with the processes that it starts; 0 is 4 GiB. Only Linux tells them

	mu       sync.Mutex // guards all below, and the state of the managers
	managers map[*Manager]bool
}

const (
	defaultServers = 16
	defaultMemory  = 4 << 30
	defaultIdle    = 10 * time.Minute
	memoryInterval = 15 * time.Second // between two looks at the memory of a server that was used lately
	maxEntries     = 256              // pairs of a server and a root
	maxCrashes     = 3                // in a row, after which a server is not started again
	maxTimeouts    = 4                // halvings of the time that a server without answers is waited for
	maxProblems    = 20               // that wait to be reported
	steadyTime     = time.Minute
)

// Manager runs the language servers of a location. Safe for concurrent use.
type Manager struct {
	options    Options
	programs   program.Finder
	start      func(launch) (*endpoint, error)
	closing    chan struct{} // closed by Close
	background sync.WaitGroup

	mu       *sync.Mutex // of the Limits; guards all below and the entries
	entries  map[entryKey]*entry
	reported map[string]bool // servers of which it was said that they are missing
	problems []string        // to be reported
	closed   bool
}

type entryKey struct{ server, root string }

// entry is a server for one root, running or not.
type entry struct {
	server       Server
	root         string
	client       *client       // nil unless it runs and is initialized
	pending      chan struct{} // closed when the start that is under way ends; nil without one
	ending       bool          // it is being ended
	failure      string        // why it does not run; "" if it runs or was not started
	broken       bool          // it is not started again
	crashes      int           // in a row
	isMissing    bool          // its program is not installed, which is worth a warning
	timeouts     int           // waits in a row that ended without an answer
	began        time.Time     // the last start
	pendingPaths []string      // files to open after the start
	backoff      process.Backoff
	users        int
	used         time.Time
	idle         *time.Timer
}

// New returns a Manager. It starts nothing. The caller must call Close.
func New(o Options) *Manager {
	if o.Limits == nil {
		o.Limits = &Limits{}
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	m := &Manager{
		options: o, programs: program.NewFinder(o.Directory, o.Worktree, o.Trusted), closing: make(chan struct{}),
		entries: map[entryKey]*entry{}, reported: map[string]bool{}, mu: &o.Limits.mu,
	}
	m.start = m.startProgram
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.Limits.managers == nil {
		o.Limits.managers = map[*Manager]bool{}
	}
	o.Limits.managers[m] = true
	return m
}

// Close ends all servers and returns when they have ended. It is called once.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	delete(m.options.Limits.managers, m)
	var clients []*client
	for _, e := range m.entries {
		if e.idle != nil {
			e.idle.Stop()
		}
		if e.client != nil {
			clients = append(clients, e.client)
			e.client = nil
		}
	}
	m.mu.Unlock()
	close(m.closing)
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(c.shutDown)
	}
	all.Wait()
	m.background.Wait()
}

// limitTime returns a context that ends after d, or when the manager is closed.
func (m *Manager) limitTime(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	go func() {
		select {
		case <-m.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
