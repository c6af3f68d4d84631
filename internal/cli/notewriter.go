package cli

import (
	"strings"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// NoteWriter sends lines to the full-screen interface, and after it to standard error. Lines that nothing reads are
// dropped.
type NoteWriter struct {
	Lines  chan string
	out    *terminal.Stream
	closed atomic.Bool
}

// NewNoteWriter returns a writer to the channel Lines until it is closed, then to out.
func NewNoteWriter(out *terminal.Stream) *NoteWriter {
	return &NoteWriter{Lines: make(chan string, 64), out: out}
}

// Close sends what follows to the output.
func (w *NoteWriter) Close() { w.closed.Store(true) }

// Write implements io.Writer.
func (w *NoteWriter) Write(p []byte) (int, error) {
	if w.closed.Load() {
		return w.out.Write(p)
	}
	for l := range strings.Lines(string(p)) {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		select {
		case w.Lines <- l:
		default:
		}
	}
	return len(p), nil
}
