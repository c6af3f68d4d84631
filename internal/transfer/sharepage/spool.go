package sharepage

import (
	"fmt"
	"io"
	"os"
	"sync"
)

const (
	// maxMemory is the size up to which a page is held in memory; a larger one is in a temporary file.
	maxMemory = 1 << 20
	// maxPage bounds a page in bytes.
	maxPage = 256 << 20
)

// spool holds a page while one writer extends it and any number of readers follow it, each at its own speed.
type spool struct {
	dir    string      // of the temporary file
	budget *fileBudget // of the files of all pages

	mu      sync.Mutex    // guards the rest
	memory  []byte        // nil once there is a file
	file    *os.File      // nil while the page is in memory
	size    int64         // of the page
	taken   int64         // of the budget
	changed chan struct{} // closed at the next change
	isEnded bool
	err     error // why it ended early
}

func newSpool(dir string, budget *fileBudget) *spool {
	return &spool{dir: dir, budget: budget, changed: make(chan struct{})}
}

// Write appends to the page.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+int64(len(p)) > maxPage {
		return 0, fmt.Errorf("the page has more than %d bytes", maxPage)
	}
	if s.file == nil && len(s.memory)+len(p) <= maxMemory {
		s.memory = append(s.memory, p...)
	} else if err := s.writeFile(p); err != nil {
		return 0, err
	}
	s.size += int64(len(p))
	s.announce()
	return len(p), nil
}

// writeFile appends to the temporary file, to which it moves the page first. mu is held.
func (s *spool) writeFile(p []byte) error {
	size := s.size + int64(len(p))
	if err := s.budget.take(s.dir, size-s.taken); err != nil {
		return err
	}
	s.taken = size
	if s.file == nil {
		f, err := createTemporary(s.dir)
		if err != nil {
			return err
		}
		if _, err := f.Write(s.memory); err != nil {
			removeTemporary(f)
			return err
		}
		s.file, s.memory = f, nil
	}
	_, err := s.file.WriteAt(p, s.size)
	return err
}

func createTemporary(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "page-*")
	if err == nil {
		_ = os.Remove(f.Name()) // some systems remove an open file only in removeTemporary
	}
	return f, err
}

func removeTemporary(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// end says that the page is complete or, with an error, that it ended early.
func (s *spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isEnded, s.err = true, err
	s.announce()
}

// announce wakes the readers. mu is held.
func (s *spool) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// read reads what is behind the offset. If there is nothing, changed is closed at the next change. isEnded and err are
// those of end once all is read.
func (s *spool) read(p []byte, offset int64) (n int, changed <-chan struct{}, isEnded bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case offset >= s.size:
		return 0, s.changed, s.isEnded, s.err
	case s.file == nil:
		return copy(p, s.memory[offset:]), s.changed, false, nil
	}
	n, err = s.file.ReadAt(p[:min(int64(len(p)), s.size-offset)], offset)
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, s.changed, false, err
}

// close removes the temporary file. Nothing reads or writes the page any more.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		removeTemporary(s.file)
	}
	s.budget.free(s.taken)
	s.taken = 0
}
