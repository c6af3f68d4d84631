package lsp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultBound is how long an edit waits for diagnostics at most.
const DefaultBound = 2 * time.Second

// Diagnose makes the servers of changed files know the changes, and waits until they have answered, but at most bound,
// and less for a server that did not answer in time before. Removed files may be among the paths. Paths are absolute,
// without links. It starts servers; the first answer of most comes later than the bound.
func (m *Manager) Diagnose(ctx context.Context, paths []string, bound time.Duration) Report {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	report := Report{Files: map[string][]Diagnostic{}}
	var mu sync.Mutex // guards report
	var all sync.WaitGroup
	for e, served := range m.group(paths) {
		all.Go(func() {
			defer m.release(e)
			files, answered := m.diagnoseWith(ctx, e, served, bound)
			mu.Lock()
			defer mu.Unlock()
			for path, list := range files {
				report.Files[path] = mergeDiagnostics(report.Files[path], list)
			}
			if !answered && !slices.Contains(report.Unanswered, e.server.ID) {
				report.Unanswered = append(report.Unanswered, e.server.ID)
			}
		})
	}
	all.Wait()
	report.arrange(paths)
	return report
}

// arrange fills the lists of paths, and bounds the files that the change broke.
func (r *Report) arrange(paths []string) {
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		switch {
		case slices.Contains(paths, path):
		case len(r.Broken) < maxOthers:
			r.Broken = append(r.Broken, path)
		default:
			delete(r.Files, path)
		}
	}
	for _, path := range paths {
		if len(selectErrors(r.Files[path])) > 0 && !slices.Contains(r.Changed, path) {
			r.Changed = append(r.Changed, path)
		}
	}
	slices.Sort(r.Unanswered)
}

// Warm starts the servers of a file and opens it, without waiting, so that they know the file and their errors are
// known before it is changed.
func (m *Manager) Warm(path string) {
	for e := range m.group([]string{path}) {
		started := m.goBackground(func() {
			defer m.release(e)
			ctx, cancel := m.limitTime(initializeTime)
			defer cancel()
			if c, err := m.await(ctx, e); err == nil {
				c.learn(ctx, []string{path})
			}
		})
		if !started {
			m.release(e)
		}
	}
}

// learn opens files and waits for their diagnostics, so that errors before a change are known.
func (c *client) learn(ctx context.Context, paths []string) {
	versions := c.send(ctx, paths)
	c.mu.Lock()
	settled := c.settled
	c.mu.Unlock()
	if !settled && len(versions) > 0 && c.await(ctx, versions) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settled = true
	}
}

// diagnoseWith returns what one server says about changed files, and the new errors of others.
func (m *Manager) diagnoseWith(
	ctx context.Context, e *entry, paths []string, bound time.Duration,
) (files map[string][]Diagnostic, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, m.findPatience(e, bound))
	defer cancel()
	c, err := m.await(ctx, e)
	if err != nil {
		if ctx.Err() != nil {
			m.notePatience(ctx, e, false)
			m.learnLater(e, paths)
		}
		return nil, ctx.Err() == nil // a server that cannot run is not waited for
	}
	before := c.takeBaseline(paths, bound, func() { m.notePatience(ctx, e, true) })
	versions := c.send(ctx, paths)
	answered = c.await(ctx, versions)
	m.notePatience(ctx, e, answered)
	files = c.collect(paths, versions, before, answered)
	return files, answered
}

// takeBaseline returns the errors before the change: those of now, or those before an earlier change of which not all
// is known yet. nil: they are not known. If the answer about an earlier change came in time after all, it calls recover.
func (c *client) takeBaseline(paths []string, bound time.Duration, recover func()) errorCounts {
	for _, path := range paths {
		if l := c.diagnostics.latency(path); l > 0 && l < bound {
			recover()
		}
	}
	now := c.diagnostics.countErrors()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.settled:
		return nil
	case c.baseline != nil:
		return c.baseline
	default:
		return now
	}
}

// collect returns the diagnostics of the changed files, if the server answered, and the new errors of others.
func (c *client) collect(
	paths []string, versions map[string]int, before errorCounts, answered bool,
) map[string][]Diagnostic {
	files := map[string][]Diagnostic{}
	for path := range versions {
		c.diagnostics.mu.Lock()
		fresh := c.diagnostics.isFresh(path, versions[path])
		c.diagnostics.mu.Unlock()
		if list := c.diagnostics.list(path); fresh && len(list) > 0 {
			files[path] = c.convertDiagnostics(path, list)
		}
	}
	if before != nil {
		for path, list := range c.diagnostics.listNew(before) {
			if !slices.Contains(paths, path) {
				files[path] = c.convertDiagnostics(path, list)
			}
		}
	}
	if answered {
		c.adaptQuiet(paths)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.baseline = nil
	if !answered {
		c.baseline = before
	} else {
		c.settled = true
	}
	return files
}

// convertDiagnostics returns the diagnostics with columns in UTF-16.
func (c *client) convertDiagnostics(path string, list []Diagnostic) []Diagnostic {
	if c.capabilities.encoding == utf16Units {
		return list
	}
	text, _, err := readDocument(path)
	if err != nil {
		return list
	}
	content, out := splitLines(text), slices.Clone(list)
	for i := range out {
		out[i].Range = content.convertRange(out[i].Range, c.capabilities.encoding, utf16Units)
	}
	return out
}
