package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// messageReader passes the lines of a server's output on that are messages, repaired. Others are left out: many servers
// print a greeting or their log there, which the SDK would take for the end of the connection. It holds at most one
// message, and of another line no more than its buffer.
type messageReader struct {
	io.Closer
	from  *bufio.Reader
	ready []byte // of the current message, not read yet
	limit int    // of a message, in bytes
}

func newMessageReader(from io.ReadCloser) *messageReader {
	return &messageReader{Closer: from, from: bufio.NewReaderSize(from, 64<<10), limit: maxMessage}
}

// tooLargeError reports a message beyond the limit.
type tooLargeError struct {
	limit int
	size  int64 // 0 or less: unknown, more than the limit
}

func (e *tooLargeError) Error() string {
	if e.size > 0 {
		return fmt.Sprintf("a message of %d bytes is too large: the limit is %d MiB", e.size, e.limit>>20)
	}
	return fmt.Sprintf("a message of more than %d bytes is too large: the limit is %d MiB", e.limit, e.limit>>20)
}

// Read implements io.Reader.
func (r *messageReader) Read(b []byte) (int, error) {
	for len(r.ready) == 0 {
		isMessage, err := r.skipOther()
		if err != nil {
			return 0, err
		}
		if !isMessage {
			continue
		}
		line, err := r.readMessage()
		if err != nil {
			return 0, err
		}
		if message := repairMessage(line); message != nil {
			r.ready = append(message, '\n')
		}
	}
	n := copy(b, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// readMessage returns the rest of the line, without its end. A message that its server does not end with a line is
// complete when it is valid and nothing follows yet.
func (r *messageReader) readMessage() (line []byte, err error) {
	for {
		if _, err := r.from.Peek(1); err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return line, nil
			}
			return nil, err
		}
		part, _ := r.from.Peek(r.from.Buffered())
		i := bytes.IndexByte(part, '\n')
		isEnd := i >= 0
		if isEnd {
			part = part[:i+1]
		}
		line = append(line, part...)
		_, _ = r.from.Discard(len(part)) // they are buffered
		switch {
		case len(line) > r.limit:
			return nil, &tooLargeError{limit: r.limit}
		case isEnd:
			return line[:len(line)-1], nil
		case len(line) < r.from.Size() && line[len(line)-1] == '}' && r.from.Buffered() == 0 &&
			jsontext.Value(line).IsValid(asSent()):
			return line, nil
		}
	}
}

// skipOther reports whether the next line begins with an object, or with an array of them, else it discards the line.
func (r *messageReader) skipOther() (isMessage bool, err error) {
	for size := 1; ; size++ {
		head, err := r.from.Peek(size)
		if err != nil {
			return false, err
		}
		switch c := head[size-1]; {
		case c == '{':
			return true, nil
		case c == '\n':
			_, err := r.from.Discard(size)
			return false, err
		case c != ' ' && c != '\t' && c != '\r' && c != '[' || size > maxIndent:
			return false, r.discardLine()
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
