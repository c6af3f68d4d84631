package mcp

import (
	"bufio"
	"errors"
	"io"
)

// messageReader passes the lines of a server's output on that begin like a message. Others are left out: many servers
// print a greeting or their log there, which the SDK would take for the end of the connection. It never holds more than
// its buffer, however long a line is.
type messageReader struct {
	io.Closer
	from   *bufio.Reader
	inLine bool // the line that is read belongs to a message
}

func newMessageReader(from io.ReadCloser) *messageReader {
	return &messageReader{Closer: from, from: bufio.NewReaderSize(from, 64<<10)}
}

// Read implements io.Reader.
func (r *messageReader) Read(b []byte) (int, error) {
	for !r.inLine {
		if err := r.skipOther(); err != nil {
			return 0, err
		}
	}
	// Pass on what has been read of the line, at most to its end.
	if _, err := r.from.Peek(1); err != nil {
		return 0, err
	}
	ready, _ := r.from.Peek(min(r.from.Buffered(), len(b)))
	n := copy(b, ready)
	for i, c := range ready {
		if c == '\n' {
			n, r.inLine = i+1, false
			break
		}
	}
	_, err := r.from.Discard(n)
	return n, err
}

// skipOther sets inLine if the next line begins with an object, or with an array of them, else it discards the line.
func (r *messageReader) skipOther() error {
	for size := 1; ; size++ {
		head, err := r.from.Peek(size)
		if err != nil {
			return err
		}
		switch c := head[size-1]; {
		case c == '{':
			r.inLine = true
			return nil
		case c == '\n':
			_, err := r.from.Discard(size)
			return err
		case c != ' ' && c != '\t' && c != '\r' && c != '[' || size > maxIndent:
			return r.discardLine()
		}
	}
}

// maxIndent bounds the white space before a message.
const maxIndent = 64

// discardLine discards the rest of the line.
func (r *messageReader) discardLine() error {
	for {
		_, err := r.from.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
