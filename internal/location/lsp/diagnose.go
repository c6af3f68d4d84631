package lsp

import (
	"context"
	"errors"
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
			firstTimeout := !answered && m.noteTimeout(e)
			mu.Lock()
			defer mu.Unlock()
			for path, list := range files {
				report.Files[path] = mergeDiagnostics(report.Files[path], list)
			}
			if firstTimeout && !slices.Contains(report.Unanswered, e.server.ID) {
				report.Unanswered = append(report.Unanswered, e.server.ID)
			}
		})
	}
	all.Wait()
	report.arrange(paths)
	report.Problems = m.takeProblems()
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

// OpenInBackground starts the servers of a file and opens it, without waiting, so that they know the file and their
// errors are known before it is changed.
func (m *Manager) OpenInBackground(path string) {
	for e := range m.group([]string{path}) {
		started := m.goBackground(func() {
			defer m.release(e)
			ctx, cancel := m.limitTime(initializeTime)
			defer cancel()
			if c, err := m.await(ctx, e); err == nil {
				c.openAndAwait(ctx, []string{path})
			}
		})
		if !started {
			m.release(e)
		}
	}
}

// openAndAwait opens files and waits for their diagnostics, so that errors before a change are known.
func (c *client) openAndAwait(ctx context.Context, paths []string) {
	versions := c.send(ctx, paths)
	c.mu.Lock()
	hasBaseline := c.hasBaseline
	c.mu.Unlock()
	if !hasBaseline && len(versions) > 0 && c.await(ctx, versions) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hasBaseline = true
	}
}

// diagnoseWith returns the diagnostics of one server for changed files, and the new errors of others. answered is false
// if the server did not answer in time.
func (m *Manager) diagnoseWith(
	ctx context.Context, e *entry, paths []string, bound time.Duration,
) (files map[string][]Diagnostic, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, m.answerTimeout(e, bound))
	defer cancel()
	c, err := m.await(ctx, e)
	if err != nil {
		m.addPendingPaths(e, paths)
		return nil, !errors.Is(ctx.Err(), context.DeadlineExceeded) // a server that cannot run is not waited for
	}
	if c.answeredLate(paths, bound) {
		m.noteAnswer(e)
	}
	before := c.takeBaseline()
	versions := c.send(ctx, paths)
	if answered = c.await(ctx, versions); answered {
		m.noteAnswer(e)
	}
	files = c.collect(paths, versions, before, answered)
	return files, answered || !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// answeredLate reports whether the answer about an earlier change of the files came within the bound after all.
func (c *client) answeredLate(paths []string, bound time.Duration) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		latency := c.diagnostics.latency(path)
		return latency > 0 && latency < bound
	})
}

// takeBaseline returns the errors before the change: those of now, or those before an earlier change of which not all
// is known yet. nil: they are not known.
func (c *client) takeBaseline() errorCounts {
	now := c.diagnostics.countErrors()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.hasBaseline:
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
	// The changed files.
	files := map[string][]Diagnostic{}
	for path, version := range versions {
		fresh, _, _ := c.diagnostics.areFresh(map[string]int{path: version})
		if list := c.diagnostics.list(path); fresh && len(list) > 0 {
			files[path] = c.convertDiagnostics(path, list)
		}
	}
	// New errors of others.
	if before != nil {
		for path, list := range c.diagnostics.listNew(before) {
			if !slices.Contains(paths, path) {
				files[path] = c.convertDiagnostics(path, list)
			}
		}
	}
	// Keep the baseline until an answer.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.baseline = nil
	if !answered {
		c.baseline = before
	} else {
		c.hasBaseline = true
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
