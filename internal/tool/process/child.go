package process

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Child is a program that runs as long as its user needs it and communicates with it over pipes. It runs outside of
// the sandbox and bears the mark of tools, so that the server does not take its requests for those of a person.
type Child struct {
	*Process
	In  io.WriteCloser
	Out io.ReadCloser

	errors  *tail
	read    chan struct{}  // closed when the end of errors has been read
	readers sync.WaitGroup // of the outputs
	stop    sync.Once
	failure atomic.Pointer[error] // see NoteFailure
}

// How long a child has to end: by itself after the end of its input, as MCP wants it of servers (specification of
// 2025-11-25, "Lifecycle", shutdown over stdio), and then between SIGTERM and SIGKILL.
const (
	childGrace = 2 * time.Second
	termGrace  = 500 * time.Millisecond
)

// keptErrors is how many bytes of the end of a child's standard error are kept.
const keptErrors = 8 << 10

// readDelay bounds the wait for the end of outputs after the end of the program: others may hold the pipes.
const readDelay = time.Second

// StartChild starts the program of the Spec with pipes instead of its Files. The caller must call Close.
func StartChild(s Spec) (*Child, error) {
	// Open three pipes. The program has copies of its ends.
	var files []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, r, w)
	}
	theirs, ours := []*os.File{files[0], files[3], files[5]}, []*os.File{files[1], files[2], files[4]}
	s.Files = Files{Input: theirs[0], Output: theirs[1], Errors: theirs[2]}
	s.Grace = termGrace
	p, err := Start(s)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	c := &Child{Process: p, In: ours[0], Out: ours[1], errors: &tail{most: keptErrors}, read: make(chan struct{})}
	// Read the standard error until it ends.
	c.readers.Go(func() {
		defer close(c.read)
		_, _ = io.Copy(c.errors, ours[2])
		_ = ours[2].Close()
	})
	c.readers.Go(func() {
		<-p.Done()
		_ = ours[2].SetReadDeadline(time.Now().Add(readDelay))
	})
	return c, nil
}

// ReadErrors returns the end of what the program wrote to its standard error until now. If the program has ended, that
// is all; other processes that hold its standard error delay it by a second at most.
func (c *Child) ReadErrors() string {
	select {
	case <-c.Done():
		<-c.read
	default:
	}
	return c.errors.String()
}

// CollectOutput reads what the program writes instead of its user. The returned function returns the end of it, after
// the end of the program; other processes that hold its output delay it by a second at most.
func (c *Child) CollectOutput() func() string {
	t, read := &tail{most: keptErrors}, make(chan struct{})
	c.readers.Go(func() {
		defer close(read)
		_, _ = io.Copy(t, c.Out)
	})
	return func() string {
		select {
		case <-read:
		case <-time.After(readDelay):
		}
		return t.String()
	}
}

// NoteFailure notes why the user of the program is about to close it, if that is not its end: the program fails, but has
// not ended. Its exit status says no more than that it was closed.
func (c *Child) NoteFailure(err error) { c.failure.Store(&err) }

// Failure returns what NoteFailure noted; nil is nothing.
func (c *Child) Failure() error {
	if noted := c.failure.Load(); noted != nil {
		return *noted
	}
	return nil
}

// Close ends the program with everything that it started: it ends the input, and after a grace period the processes. It
// returns when they have ended and ReadErrors is complete.
func (c *Child) Close() error {
	c.CloseWithin(childGrace)
	return nil
}

// CloseWithin is Close with another time for the program to end by itself.
func (c *Child) CloseWithin(grace time.Duration) {
	c.stop.Do(func() {
		_ = c.In.Close()
		select {
		case <-c.Done():
		case <-time.After(grace):
		}
		c.Stop(termGrace)
		_ = c.Out.Close()
		c.readers.Wait()
	})
}

// tail keeps the last bytes of what is written to it. Safe for concurrent use.
type tail struct {
	most int

	mu   sync.Mutex // guards kept
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.kept, nil))
}
