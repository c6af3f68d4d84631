// Package sse reads server-sent events as the HTML standard defines them, from any reader, one byte or one megabyte
// at a time.
//
// It accepts CR, LF and CRLF line ends, one leading byte order mark, comments, multi-line data, and the fields event,
// data and id; retry and unknown fields are ignored. Beyond the standard, a field error is data of an event of that
// name. An event without data is not dispatched, nor, but by ToEnd, one that the stream ends in the middle of. How the
// bytes are split between reads never changes the frames.
//
// A frame larger than the limit ends the stream with a *LimitError; memory stays within about twice the limit.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"iter"
)

// DefaultLimit bounds one frame when the caller names no other bound. Models send a picture in one frame: as base64, one
// of 4096 by 4096 pixels takes up to 27 MiB.
const DefaultLimit = 32 << 20

const (
	chunkSize  = 16 << 10
	maxNoBytes = 100 // reads in a row that give neither bytes nor an error
)

// Frame is one dispatched event. Data and the buffer behind it belong to the decoder: they are valid until the next
// frame is asked for. ID is the last event id the stream has set, which persists from frame to frame.
type Frame struct {
	Event string // empty for the default type
	ID    string
	Data  []byte // the data lines, joined with newlines
	// Unended says that the stream ended where the blank line would be. Whether the data is whole only the data can tell.
	Unended bool
}

// LimitError says that a frame is larger than the decoder accepts.
type LimitError struct{ Limit int }

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("a server-sent event is larger than %d bytes", e.Limit)
}

// Frames yields the frames of r. A limit of 0 means DefaultLimit. The sequence ends at the end of r without error, or
// yields r's error, or a *LimitError, as its last element. It can be ranged over once.
func Frames(r io.Reader, limit int) iter.Seq2[Frame, error] { return frames(r, limit, false) }

// ToEnd is Frames, and yields what the end of r leaves without its blank line as the last frame, which is Unended. An
// error of r leaves nothing.
func ToEnd(r io.Reader, limit int) iter.Seq2[Frame, error] { return frames(r, limit, true) }

func frames(r io.Reader, limit int, unended bool) iter.Seq2[Frame, error] {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return func(yield func(Frame, error) bool) {
		d := decoder{limit: limit, first: true}
		chunk := make([]byte, chunkSize)
		for empty := 0; ; {
			n, err := r.Read(chunk)
			empty++
			if n > 0 {
				empty = 0
			}
			if more, feedErr := d.feed(chunk[:n], yield); feedErr != nil {
				yield(Frame{}, feedErr)
				return
			} else if !more {
				return
			}
			switch {
			case err == io.EOF: //nolint:errorlint // io.Reader's contract; an error that wraps EOF is a failure
				if frame, ok := d.rest(); unended && ok {
					yield(frame, nil)
				}
				return
			case err == nil && empty > maxNoBytes:
				yield(Frame{}, io.ErrNoProgress)
				return
			case err != nil:
				yield(Frame{}, err)
				return
			}
		}
	}
}

var bom = []byte("\xef\xbb\xbf")

// decoder is the state between two bytes of the stream.
type decoder struct {
	limit  int
	first  bool   // no line has been completed yet
	skipLF bool   // the last byte was a CR that ended a line
	line   []byte // the beginning of a line that the last chunk broke off
	data   []byte // the data lines so far, each with its newline
	event  string
	id     string
	known  string // the last event name, kept so that a repeated one costs no allocation
}

// feed consumes one chunk. It reports whether the reader of the frames wants more.
func (d *decoder) feed(chunk []byte, yield func(Frame, error) bool) (bool, error) {
	for len(chunk) > 0 {
		if d.skipLF {
			d.skipLF = false
			if chunk[0] == '\n' {
				chunk = chunk[1:]
				continue
			}
		}
		end := lineEnd(chunk)
		if end < 0 {
			d.line = append(d.line, chunk...)
			return true, d.check(len(d.line))
		}
		line := chunk[:end]
		d.skipLF = chunk[end] == '\r'
		chunk = chunk[end+1:]
		if len(d.line) > 0 {
			d.line = append(d.line, line...)
			line = d.line
		}
		if err := d.check(len(line)); err != nil {
			return false, err
		}
		frame, ok := d.take(line)
		d.line = d.line[:0]
		if ok && !yield(frame, nil) {
			return false, nil
		}
	}
	return true, nil
}

func (d *decoder) check(line int) error {
	if line+len(d.data) > d.limit {
		return &LimitError{Limit: d.limit}
	}
	return nil
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// take accepts one complete line and returns the frame it dispatches, if any.
func (d *decoder) take(line []byte) (Frame, bool) {
	if d.first {
		d.first = false
		line = bytes.TrimPrefix(line, bom)
	}
	if len(line) == 0 {
		return d.dispatch()
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		d.data = append(append(d.data, value...), '\n')
	case "error": // as llama.cpp's server and its likes say that they failed in the middle
		d.event = "error"
		d.data = append(append(d.data, value...), '\n')
	case "event":
		if string(value) != d.known {
			d.known = string(value)
		}
		d.event = d.known
	case "id":
		if bytes.IndexByte(value, 0) < 0 && string(value) != d.id {
			d.id = string(value)
		}
	}
	return Frame{}, false
}

// rest is the frame that the end of the stream leaves. Of a line that it leaves only data counts: another field's value
// may lack its end and still be one.
func (d *decoder) rest() (Frame, bool) {
	if name, _, _ := bytes.Cut(bytes.TrimPrefix(d.line, bom), []byte(":")); string(name) == "data" || string(name) == "error" {
		d.take(d.line)
	}
	frame, ok := d.dispatch()
	frame.Unended = true
	return frame, ok
}

func (d *decoder) dispatch() (Frame, bool) {
	event, data := d.event, d.data
	d.event, d.data = "", d.data[:0]
	if len(data) == 0 {
		return Frame{}, false
	}
	return Frame{Event: event, ID: d.id, Data: data[:len(data)-1]}, true
}
