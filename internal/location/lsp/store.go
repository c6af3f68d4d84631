package lsp

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxFiles       = 2000  // with diagnostics
	maxDiagnostics = 10000 // of all files
)

// store keeps the newest diagnostics of each file of one server. Safe for concurrent use.
type store struct {
	mu      sync.Mutex // guards all below
	files   map[string]*fileDiagnostics
	total   int           // diagnostics of all files
	seq     int64         // of the newest change
	newest  time.Time     // of it
	changed chan struct{} // closed at the next change
	late    bool          // a report was changed after it had been taken as complete
}

// fileDiagnostics are the diagnostics of a file: those that the server sent by itself and those that it was asked for.
type fileDiagnostics struct {
	push, pull []Diagnostic
	seq        int64 // of the last change; 0 for none since the file was sent
	version    int   // of the document that push is for; -1 if the server does not say
	sent       time.Time
	latency    time.Duration // between sent and the first answer; 0 without one
	complete   bool          // a caller took them as complete
}

func newStore() *store {
	return &store{files: map[string]*fileDiagnostics{}, changed: make(chan struct{})}
}

// wake lets waiters look again. The caller holds mu.
func (s *store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// notifyWaiters lets waiters look again because something other than diagnostics has changed.
func (s *store) notifyWaiters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// put stores what a server pushed, or with pulled what it answered. It reports whether the diagnostics have changed.
// Beyond the limits, files that are not known yet are left out.
func (s *store) put(path string, list []Diagnostic, version int, pulled bool) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		if len(s.files) >= maxFiles || len(list) == 0 && !pulled {
			s.seq++
			s.newest = time.Now()
			s.wake()
			return false
		}
		f = &fileDiagnostics{version: -1}
		s.files[path] = f
	}
	before := f.push
	if pulled {
		before = f.pull
	}
	if over := s.total - len(before) + len(list) - maxDiagnostics; over > 0 {
		list = list[:max(len(list)-over, 0)]
	}
	s.total += len(list) - len(before)
	if pulled {
		f.pull = list
	} else {
		f.push, f.version = list, version
	}
	changed = !slices.EqualFunc(before, list, func(a, b Diagnostic) bool {
		return a.Range == b.Range && a.Severity == b.Severity && a.identity() == b.identity()
	})
	s.late = s.late || changed && f.complete
	s.seq++
	f.seq, s.newest = s.seq, time.Now()
	if f.latency == 0 && !f.sent.IsZero() {
		f.latency = max(time.Since(f.sent), 1)
	}
	if f.sent.IsZero() && len(f.push)+len(f.pull) == 0 {
		delete(s.files, path)
	}
	s.wake()
	return changed
}

// expect records that a new version of a file was sent.
func (s *store) expect(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		f = &fileDiagnostics{version: -1}
		s.files[path] = f
	}
	f.seq, f.sent, f.latency, f.complete = 0, time.Now(), 0, false
}

// release records that a file is not open any more. Its diagnostics stay until the server changes them.
func (s *store) release(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		return
	}
	f.sent = time.Time{}
	if len(f.push)+len(f.pull) == 0 {
		delete(s.files, path)
	}
}

// forget removes a file. Servers that do not clear the diagnostics of removed files would keep them for ever.
func (s *store) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		s.total -= len(f.push) + len(f.pull)
		delete(s.files, path)
	}
}

// isFresh reports whether there are diagnostics of this version of a file. The caller holds mu.
func (s *store) isFresh(path string, version int) bool {
	f := s.files[path]
	return f != nil && f.seq > 0 && (f.version < 0 || f.version >= version)
}

// list returns the diagnostics of a file.
func (s *store) list(path string) []Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		return mergeDiagnostics(f.push, f.pull)
	}
	return nil
}

// latency returns how long the answer about the last version of a file took, 0 if there was none.
func (s *store) latency(path string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		return f.latency
	}
	return 0
}

// settle marks the diagnostics of files as complete, and reports whether earlier complete ones changed later.
func (s *store) settle(paths []string) (late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		if f := s.files[path]; f != nil {
			f.complete = true
		}
	}
	late, s.late = s.late, false
	return late
}

// errorCounts counts the errors of each file by identity.
type errorCounts map[string]map[string]int

// countErrors returns the errors of all files.
func (s *store) countErrors() errorCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := errorCounts{}
	for path, f := range s.files {
		for _, d := range mergeDiagnostics(selectErrors(f.push), selectErrors(f.pull)) {
			if out[path] == nil {
				out[path] = map[string]int{}
			}
			out[path][d.identity()]++
		}
	}
	return out
}

// listNew returns the errors of each file that are not in before.
func (s *store) listNew(before errorCounts) map[string][]Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]Diagnostic{}
	for path, f := range s.files {
		left := maps.Clone(before[path])
		for _, d := range mergeDiagnostics(selectErrors(f.push), selectErrors(f.pull)) {
			if left[d.identity()] > 0 {
				left[d.identity()]--
				continue
			}
			out[path] = append(out[path], d)
		}
	}
	return out
}
