package lsp

import (
	"maps"
	"sync"
	"time"
)

const (
	maxFiles       = 2000  // with diagnostics
	maxDiagnostics = 10000 // of all files
)

// diagnosticTable keeps the newest diagnostics of each file of one server. Safe for concurrent use.
type diagnosticTable struct {
	mu      sync.Mutex // guards all below
	files   map[string]*fileDiagnostics
	total   int           // diagnostics of all files
	seq     int64         // of the newest change
	newest  time.Time     // of it
	changed chan struct{} // closed at the next change
}

// fileDiagnostics are the diagnostics of a file: those that the server sent by itself and those that it was asked for.
type fileDiagnostics struct {
	push, pull []Diagnostic
	seq        int64 // of the last change; 0 for none since the file was sent
	version    int   // of the document that push is for; -1 if the server does not say
	sent       time.Time
	latency    time.Duration // between sent and the first answer; 0 without one
}

func newDiagnosticTable() *diagnosticTable {
	return &diagnosticTable{files: map[string]*fileDiagnostics{}, changed: make(chan struct{})}
}

// wake lets waiters look again. The caller holds mu.
func (s *diagnosticTable) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// notifyWaiters lets waiters look again because something other than diagnostics has changed.
func (s *diagnosticTable) notifyWaiters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// put stores what a server pushed, or with pulled what it answered. Beyond the limits, files that are not known yet are
// left out.
func (s *diagnosticTable) put(path string, list []Diagnostic, version int, pulled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wake()
	s.seq++
	s.newest = time.Now()
	// Leave out beyond the limits.
	f := s.files[path]
	if f == nil {
		if len(s.files) >= maxFiles || len(list) == 0 && !pulled {
			return
		}
		f = &fileDiagnostics{version: -1}
		s.files[path] = f
	}
	// Replace one of the two lists.
	kept := &f.push
	if pulled {
		kept = &f.pull
	} else {
		f.version = version
	}
	if over := s.total - len(*kept) + len(list) - maxDiagnostics; over > 0 {
		list = list[:max(len(list)-over, 0)]
	}
	s.total += len(list) - len(*kept)
	*kept = list
	// Record the change and its latency.
	f.seq = s.seq
	if f.latency == 0 && !f.sent.IsZero() {
		f.latency = max(time.Since(f.sent), 1)
	}
	if f.sent.IsZero() && len(f.push)+len(f.pull) == 0 {
		delete(s.files, path)
	}
}

// expect records that a new version of a file was sent.
func (s *diagnosticTable) expect(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		f = &fileDiagnostics{version: -1}
		s.files[path] = f
	}
	f.seq, f.sent, f.latency = 0, time.Now(), 0
}

// release records that a file is not open any more. Its diagnostics stay until the server changes them.
func (s *diagnosticTable) release(path string) {
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
func (s *diagnosticTable) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		s.total -= len(f.push) + len(f.pull)
		delete(s.files, path)
	}
}

// areFresh reports whether there are diagnostics of these versions of files, when the last ones of any file came, and
// what is closed at the next change.
func (s *diagnosticTable) areFresh(versions map[string]int) (fresh bool, newest time.Time, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = true
	for path, version := range versions {
		f := s.files[path]
		fresh = fresh && f != nil && f.seq > 0 && (f.version < 0 || f.version >= version)
	}
	return fresh, s.newest, s.changed
}

// list returns the diagnostics of a file.
func (s *diagnosticTable) list(path string) []Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		return mergeDiagnostics(f.push, f.pull)
	}
	return nil
}

// latency returns how long the answer about the last version of a file took, 0 if there was none.
func (s *diagnosticTable) latency(path string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		return f.latency
	}
	return 0
}

// errorCounts counts the errors of each file by identity.
type errorCounts map[string]map[string]int

// countErrors returns the errors of all files.
func (s *diagnosticTable) countErrors() errorCounts {
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
func (s *diagnosticTable) listNew(before errorCounts) map[string][]Diagnostic {
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
