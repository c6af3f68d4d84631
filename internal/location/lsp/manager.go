package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// group returns the entries of the servers of files, each with its files. The caller releases each entry. Files outside
// of the location and its worktree have no server.
func (m *Manager) group(paths []string) map[*entry][]string {
	out := map[*entry][]string{}
	for _, path := range paths {
		if !m.programs.Owns(path) {
			continue
		}
		for _, s := range m.options.Servers {
			if !s.serves(path) {
				continue
			}
			root, ok := m.findRoot(s, path)
			if !ok {
				continue
			}
			e := m.acquire(s, root)
			if e == nil {
				continue
			}
			if _, held := out[e]; held {
				m.release(e)
			}
			out[e] = append(out[e], path)
		}
	}
	return out
}

// acquire returns the entry of a server, and starts it if it does not run and may be started. The caller releases it.
func (m *Manager) acquire(s Server, root string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := entryKey{s.ID, root}
	e := m.entries[key]
	if m.closed || e == nil && len(m.entries) >= maxEntries {
		return nil
	}
	if e == nil {
		e = &entry{server: s, root: root}
		m.entries[key] = e
	}
	e.users++
	e.used = time.Now()
	if e.idle != nil {
		e.idle.Stop()
	}
	stopped := e.client == nil && e.pending == nil && !e.ending
	if stopped && !e.broken && !e.used.Before(e.backoff.Next()) && m.makeRoom(e) {
		e.pending, e.began = make(chan struct{}), e.used
		m.background.Go(func() { m.startEntry(e) })
	}
	return e
}

// makeRoom ends the least recently used server without users, of any manager, if as many run as may. The caller holds
// mu.
func (m *Manager) makeRoom(next *entry) bool {
	var oldest *entry
	var owner *Manager
	running := 0
	for other := range m.options.Limits.managers {
		for _, e := range other.entries {
			if e.client == nil && e.pending == nil && !e.ending {
				continue
			}
			running++
			if e.client != nil && e.users == 0 && (oldest == nil || e.used.Before(oldest.used)) {
				oldest, owner = e, other
			}
		}
	}
	if running < cmp.Or(m.options.Limits.Servers, defaultServers) {
		return true
	}
	if oldest == nil {
		next.failure = fmt.Sprintf("%d language servers are in use, which is the limit", running)
		return false
	}
	owner.endEntry(oldest)
	return true
}

// goBackground runs f in a goroutine that Close waits for, unless the manager is closed.
func (m *Manager) goBackground(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.background.Go(f)
	}
	return !m.closed
}

// endEntry ends the server of an entry in the background. The caller holds mu.
func (m *Manager) endEntry(e *entry) {
	c := e.client
	e.client, e.ending = nil, true
	m.background.Go(func() {
		c.shutDown()
		m.mu.Lock()
		e.ending = false
		m.mu.Unlock()
		m.notifyChange()
	})
}

// release gives an entry back. Without users its server ends after a while.
func (m *Manager) release(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.users--
	e.used = time.Now()
	if e.users > 0 || m.closed {
		return
	}
	if e.idle != nil {
		e.idle.Stop()
	}
	e.idle = time.AfterFunc(m.options.Idle, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.users == 0 && e.client != nil && !m.closed && time.Since(e.used) >= m.options.Idle {
			m.endEntry(e)
		}
	})
}

// startEntry starts the server of an entry, opens the files that wait for it, and watches it until it ends.
func (m *Manager) startEntry(e *entry) {
	// Start.
	c, err := m.startClient(e)
	// Record the result.
	m.mu.Lock()
	if m.closed && c != nil {
		m.mu.Unlock()
		c.kill()
		m.mu.Lock()
		c, err = nil, errors.New("the location is closed")
	}
	var missing *missingError
	switch {
	case err == nil:
		e.client, e.failure, e.isMissing, e.timeouts = c, "", false, 0
	case errors.As(err, &missing):
		e.failure, e.isMissing = missing.text, !missing.silent
		e.backoff.Note(e.began, time.Now()) // it may be installed meanwhile
		if !missing.silent && !m.reported[e.server.ID] {
			m.reported[e.server.ID] = true
			m.addProblem(missing.text)
		}
	default:
		m.noteFailure(e, err)
	}
	close(e.pending)
	e.pending = nil
	paths := e.pendingPaths
	e.pendingPaths = nil
	m.mu.Unlock()
	m.notifyChange()
	if c == nil {
		return
	}
	// Watch it, and open the files that wait.
	m.background.Go(func() { m.watch(e, c) })
	ctx, cancel := m.limitTime(initializeTime)
	defer cancel()
	if len(paths) > 0 {
		c.openAndAwait(ctx, paths)
	}
}

func (m *Manager) startClient(e *entry) (*client, error) {
	l, err := m.findProgram(e.server, e.root)
	if err != nil {
		return nil, err
	}
	end, err := m.start(l)
	if err != nil {
		return nil, err
	}
	ctx, cancel := m.limitTime(2 * initializeTime)
	defer cancel()
	return newClient(ctx, e.server, l, end)
}

func (m *Manager) notifyChange() {
	if m.options.OnChange != nil {
		m.options.OnChange()
	}
}

// watch waits for the end of a server, and ends one that uses too much memory. If it was not ended by its manager, that
// is a crash.
func (m *Manager) watch(e *entry, c *client) {
	// Wait.
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-c.conn.ended():
			ended = true
		case <-c.endpoint.done:
			ended = true
		case <-tick.C:
			m.checkMemory(e, c)
		case <-m.closing:
			return // Close ends it
		}
	}
	// Record a crash.
	m.mu.Lock()
	crashed := e.client == c
	if crashed {
		e.client, e.ending = nil, true
	}
	m.mu.Unlock()
	if !crashed {
		return
	}
	c.kill()
	err := c.describeEnd(nil)
	m.mu.Lock()
	e.ending = false
	m.noteFailure(e, err)
	m.mu.Unlock()
	m.notifyChange()
}

// checkMemory ends the connection of a server that was used lately and uses too much memory.
func (m *Manager) checkMemory(e *entry, c *client) {
	m.mu.Lock()
	idle := e.users == 0 && time.Since(e.used) > 2*memoryInterval
	m.mu.Unlock()
	if idle || c.endpoint.memory == nil {
		return
	}
	limit := cmp.Or(m.options.Limits.Memory, defaultMemory)
	if used := c.endpoint.memory(); used > limit {
		err := c.conn.stream.fail(fmt.Errorf("it used %d MiB of memory; the limit is %d MiB", used>>20, limit>>20))
		m.mu.Lock()
		defer m.mu.Unlock()
		m.addProblem(fmt.Sprintf("language server %s was ended: %v", e.server.ID, err))
	}
}

// noteFailure records that a server ended or could not be started. The caller holds mu.
func (m *Manager) noteFailure(e *entry, err error) {
	now := time.Now()
	if now.Sub(e.began) >= steadyTime {
		e.crashes = 0
	}
	e.crashes++
	e.failure = fmt.Sprintf("language server %s failed: %v", e.server.ID, err)
	if e.broken = e.crashes >= maxCrashes; e.broken {
		const format = "language server %s failed %d times and is not started again: %v"
		e.failure = fmt.Sprintf(format, e.server.ID, e.crashes, err)
		m.addProblem(e.failure)
	}
	e.backoff.Note(e.began, now)
}

// await returns the client of an entry once it runs.
func (m *Manager) await(ctx context.Context, e *entry) (*client, error) {
	for {
		m.mu.Lock()
		c, pending, failure := e.client, e.pending, e.failure
		m.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case pending == nil && failure == "":
			return nil, fmt.Errorf("language server %s was ended", e.server.ID)
		case pending == nil:
			return nil, errors.New(failure)
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return nil, fmt.Errorf("language server %s has not started yet", e.server.ID)
		}
	}
}

// answerTimeout returns how long to wait for a server: the bound, halved for each wait in a row without an answer.
func (m *Manager) answerTimeout(e *entry, bound time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bound >> min(e.timeouts, maxTimeouts)
}

// noteTimeout counts a wait without an answer. It reports whether it is the first in a row.
func (m *Manager) noteTimeout(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.timeouts++
	return e.timeouts == 1
}

func (m *Manager) noteAnswer(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.timeouts = 0
}

// addPendingPaths opens files when the start that is under way has ended.
func (m *Manager) addPendingPaths(e *entry, paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range paths {
		if e.pending != nil && len(e.pendingPaths) < maxDocuments && !slices.Contains(e.pendingPaths, path) {
			e.pendingPaths = append(e.pendingPaths, path)
		}
	}
}

// addProblem records why a server does not run, to be reported. The caller holds mu.
func (m *Manager) addProblem(text string) {
	if len(m.problems) < maxProblems {
		m.problems = append(m.problems, text)
	}
}

func (m *Manager) takeProblems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.problems
	m.problems = nil
	return out
}

// NoteChanged sends the servers that run the changes of files by commands: content of open files, and the names of
// others that were changed, created or removed. It does not wait. Paths are absolute, without links.
func (m *Manager) NoteChanged(paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for _, e := range m.entries {
		c := e.client
		if c == nil {
			continue
		}
		m.background.Go(func() {
			ctx, cancel := m.limitTime(DefaultBound)
			defer cancel()
			c.noteChanged(ctx, paths)
		})
	}
}
