// Package sharetarget is a share service for tests. It speaks the protocol of OpenCode's share service:
//
//	POST   /api/share            {sessionID}       creates a share and answers its id, url and secret
//	POST   /api/share/{id}/sync  {secret, data}    stores items; one replaces the earlier one with its key
//	DELETE /api/share/{id}       {secret}          removes the share and its items
//	GET    /api/share/{id}/data                    serves the items to everybody, in the order of their keys
//
// As in the service, the id is the last eight characters of the session id; a second share of a shared session, an
// unknown share and a wrong secret are status 500; and the data of an unknown share is an empty list. A malformed
// request, which OpenCode never sends, is status 400 and a problem. Faults make the target fail.
package sharetarget

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Target is a share service in memory. It is a handler, and a transport to itself: through the latter it works
// without a network, and so in a bubble of testing/synctest. Its methods may be called at any time from any
// goroutine.
type Target struct {
	URL string // where the target is reached: the server that Start starts, or any address through RoundTrip

	mu       sync.Mutex // guards the rest
	shares   map[string]*share
	faults   map[Operation]Fault
	released chan struct{} // closed when requests are no longer held
	arrived  chan struct{} // closed when requests changes
	requests []Request
	problems []error
	secrets  int // secrets so far, so that a secret is never used twice
}

type share struct {
	secret string
	items  map[string]Item
}

// Request is one request as it arrived.
type Request struct {
	At        time.Time
	Operation Operation
	Path      string
	Header    http.Header
	Share     string // id of the share in the path; empty for Create
	Session   string // of Create
	Secret    string // of Sync and Delete
	Items     []Item // of Sync, in the order of the request
	Status    int    // status of the response; 0 while there is none, and for a connection that was closed
}

// New returns a target that is reached through RoundTrip or ServeHTTP.
func New() *Target {
	return &Target{
		URL: "http://share.example", shares: map[string]*share{}, faults: map[Operation]Fault{},
		released: make(chan struct{}), arrived: make(chan struct{}),
	}
}

// Start returns a target that listens on a port of this machine until the test ends. A malformed request fails the
// test.
func Start(tb testing.TB) *Target {
	tb.Helper()
	t := New()
	server := httptest.NewServer(t)
	t.URL = server.URL
	tb.Cleanup(func() {
		t.Recover() // Close waits for the requests that are held
		server.Close()
		for _, err := range t.Problems() {
			tb.Errorf("share target: %v", err)
		}
	})
	return t
}

// ServeHTTP implements http.Handler.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !t.serve(w, r) {
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
}

// RoundTrip implements http.RoundTripper without a network.
func (t *Target) RoundTrip(r *http.Request) (*http.Response, error) {
	// A handler may always read the body and knows the host that was asked.
	inner := r.Clone(r.Context())
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	if inner.Host == "" {
		inner.Host = inner.URL.Host
	}
	w := httptest.NewRecorder()
	answered := t.serve(w, inner)
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	if !answered {
		return nil, errors.New("the share target closed the connection")
	}
	return w.Result(), nil
}

// Requests returns the requests so far in the order of their arrival.
func (t *Target) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// WaitFor waits until isEnough returns true for the requests so far, which it may read but not keep. It is called
// after each arrival and each response.
func (t *Target) WaitFor(ctx context.Context, isEnough func([]Request) bool) error {
	for {
		t.mu.Lock()
		enough, arrived := isEnough(t.requests), t.arrived
		t.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Problems returns what was wrong with the malformed requests so far.
func (t *Target) Problems() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.problems)
}

// Served returns the items of a share in the order in which its data serves them, whatever fails.
func (t *Target) Served(id string) []Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listItems(id)
}

// IsShared returns whether the share exists: it was created and not deleted.
func (t *Target) IsShared(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shares[id] != nil
}

// listItems needs the lock. The list of an unknown share is empty, not nil: it is encoded as [].
func (t *Target) listItems(id string) []Item {
	items := []Item{}
	if s := t.shares[id]; s != nil {
		for _, key := range slices.Sorted(maps.Keys(s.items)) {
			items = append(items, s.items[key])
		}
	}
	return items
}

// announce wakes WaitFor. It needs the lock.
func (t *Target) announce() {
	close(t.arrived)
	t.arrived = make(chan struct{})
}
