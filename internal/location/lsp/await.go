package lsp

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fileuri"
)

// quietTime is how long a server must publish nothing after the first diagnostics before they are complete: many send
// errors of syntax first and those of types later.
const quietTime = 300 * time.Millisecond

const (
	maxPulled   = 8 // other open documents that a server is asked about after a change
	maxParallel = 8 // requests for diagnostics at a time
)

// await waits until the server has answered about these versions of files, or ctx ends. It reports whether it has.
func (c *client) await(ctx context.Context, versions map[string]int) bool {
	if len(versions) == 0 {
		return true
	}
	for {
		if identifiers := c.listPullIdentifiers(); len(identifiers) > 0 {
			return c.pullAll(ctx, versions, identifiers)
		}
		fresh, again := c.awaitPush(ctx, versions)
		if !again {
			return fresh
		}
	}
}

// awaitPush waits for published diagnostics of the versions, and then until the server is quiet. again is set if the
// server meanwhile offers to be asked.
func (c *client) awaitPush(ctx context.Context, versions map[string]int) (fresh, again bool) {
	var since time.Time // the diagnostics are fresh
	for {
		// Look at the diagnostics and take the channel of the next change.
		var newest time.Time
		var changed <-chan struct{}
		fresh, newest, changed = c.diagnostics.areFresh(versions)
		// Once fresh, wait for quiet, but not for ever: others may publish without an end.
		var quiet <-chan time.Time
		if fresh {
			if since.IsZero() {
				since = time.Now()
			}
			left := min(time.Until(newest.Add(quietTime)), time.Until(since.Add(3*quietTime)))
			if left <= 0 {
				return true, false
			}
			quiet = time.After(left)
		}
		select {
		case <-quiet:
			return true, false
		case <-changed:
			if len(c.listPullIdentifiers()) > 0 {
				return false, true
			}
		case <-c.conn.ended():
			return false, false
		case <-ctx.Done():
			return fresh, false
		}
	}
}

// listPullIdentifiers returns the identifiers to ask textDocument/diagnostic with; none if the server only pushes.
func (c *client) listPullIdentifiers() (out []string) {
	if c.capabilities.diagnostics {
		out = append(out, c.capabilities.identifier)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, identifier := range c.registrations {
		if !slices.Contains(out, identifier) && len(out) < 4 {
			out = append(out, identifier)
		}
	}
	return out
}

// pullAll asks for the diagnostics of the files and of the documents that were used last. It reports whether the server
// answered about all files.
func (c *client) pullAll(ctx context.Context, versions map[string]int, identifiers []string) bool {
	// The files, which may be more than are open, and other open documents.
	paths := c.listOpen(ctx, maxPulled)
	for path := range versions {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	// Ask about a few at a time.
	answered := make([]bool, len(paths))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(paths), maxParallel) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				answered[i] = c.pull(ctx, paths[i], identifiers)
			}
		})
	}
	all.Wait()
	for i, path := range paths {
		if _, ok := versions[path]; ok && !answered[i] {
			return false
		}
	}
	return true
}

// diagnosticReport is the answer to textDocument/diagnostic.
type diagnosticReport struct {
	Kind    string                      `json:"kind"`
	Items   []jsontext.Value            `json:"items"`
	Related map[string]diagnosticReport `json:"relatedDocuments"`
}

// pull asks for the diagnostics of a file with each identifier.
func (c *client) pull(ctx context.Context, path string, identifiers []string) bool {
	var list []Diagnostic
	for _, identifier := range identifiers {
		params := object{"textDocument": object{"uri": fileuri.Format(path)}}
		if identifier != "" {
			params["identifier"] = identifier
		}
		answer, err := c.callAgain(ctx, "textDocument/diagnostic", params)
		if err != nil {
			return false
		}
		var report diagnosticReport
		if json.Unmarshal(answer, &report, lenient()) != nil {
			return false
		}
		list = mergeDiagnostics(list, decodeDiagnostics(report.Items))
		for uri, related := range report.Related {
			if other, ok := fileuri.Parse(uri); ok && other != path && related.Kind == "full" {
				c.storePulled(other, decodeDiagnostics(related.Items))
			}
		}
	}
	c.storePulled(path, list)
	return true
}

// callAgain sends a request up to three times, as a server may give one up while it works on a change.
func (c *client) callAgain(ctx context.Context, method string, params any) (answer jsontext.Value, err error) {
	for range 3 {
		if answer, err = c.conn.call(ctx, method, params); err == nil || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

func (c *client) storePulled(path string, list []Diagnostic) {
	c.diagnostics.put(path, list, -1, true)
}
