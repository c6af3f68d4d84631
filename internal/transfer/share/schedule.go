package share

import (
	"sync"
	"time"
)

// schedule holds the shares that are to be looked at, with the time. It is safe for concurrent use.
type schedule struct {
	mu    sync.Mutex // guards marks
	marks map[string]mark
}

// mark says that a share is to be looked at.
type mark struct {
	due     time.Time
	changes int // how often the share was marked since the mark was set
}

// add marks the share as due now, or since it became due.
func (s *schedule) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks == nil {
		s.marks = map[string]mark{}
	}
	due := time.Now()
	m, found := s.marks[id]
	if found && m.due.Before(due) {
		due = m.due
	}
	s.marks[id] = mark{due: due, changes: m.changes + 1}
}

// find returns the mark of a share.
func (s *schedule) find(id string) (m mark, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, found = s.marks[id]
	return m, found
}

// finish ends the work on a share that began with the mark m: the share is due again at next, or not at all if next is
// zero. If the share was marked during the work, it is due now, behind those that wait longer.
func (s *schedule) finish(id string, m mark, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch current, found := s.marks[id]; {
	case found && current.changes != m.changes:
		s.marks[id] = mark{due: time.Now(), changes: current.changes}
	case next.IsZero():
		delete(s.marks, id)
	default:
		if s.marks == nil {
			s.marks = map[string]mark{}
		}
		s.marks[id] = mark{due: next, changes: m.changes}
	}
}

// remove removes the mark of a share that no longer exists.
func (s *schedule) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.marks, id)
}

// list returns the marked shares.
func (s *schedule) list() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]bool, len(s.marks))
	for id := range s.marks {
		out[id] = true
	}
	return out
}
