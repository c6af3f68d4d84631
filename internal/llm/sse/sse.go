// Package sse reads server-sent events as the HTML standard defines them, from any reader and in chunks of any size.
//
// It accepts CR, LF and CRLF line ends, one leading byte order mark, comments, multi-line data, and the fields event,
// data and id; retry and unknown fields are ignored. Beyond the standard, a field named error is the data of an event
// of that name. An event without data is not dispatched, nor is one that the stream ends in the middle of, except by
// ReadFramesToEnd. How the bytes are split between reads never changes the frames.
//
// A frame larger than the limit ends the stream with a *LimitError; memory stays within about twice the limit.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"iter"
)

// DefaultLimit bounds one frame when the caller sets no limit. Models send an image in one frame: 4096 by 4096 pixels
// take up to 27 MiB in base64.
const DefaultLimit = 32 << 20

const (
	chunkSize  = 16 << 10
	maxNoBytes = 100 // consecutive reads that return neither bytes nor an error
)

// Frame is one dispatched event. Data belongs to the decoder and is valid until the next frame. ID is the last event id
// that the stream has set; it persists from frame to frame.
type Frame struct {
	Event string // empty for the default type
	ID    string
	Data  []byte // the data lines, joined with newlines
	// Unended reports that the stream ended before the blank line. Only the data can show whether it is complete.
	Unended bool
}

// LimitError is the error of a frame that is larger than the limit.
type LimitError struct{ Limit int }

// Error returns a message with the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("a server-sent event is larger than %d bytes", e.Limit)
}

// ReadFrames yields the frames of r. A limit of 0 means DefaultLimit. The sequence ends at the end of r without an
// error, or yields r's error or a *LimitError as its last element. It can be ranged over once.
func ReadFrames(r io.Reader, limit int) iter.Seq2[Frame, error] { return readFrames(r, limit, false) }

// ReadFramesToEnd is ReadFrames, and also yields the frame that the end of r leaves without a blank line; that frame is
// Unended. An error of r discards it.
func ReadFramesToEnd(r io.Reader, limit int) iter.Seq2[Frame, error] {
	return readFrames(r, limit, true)
}

// readFrames returns the frames of r until its end or its first error. With unended, a last frame without a blank line
// counts too. No frame may be larger than limit; 0 is DefaultLimit.
func readFrames(r io.Reader, limit int, unended bool) iter.Seq2[Frame, error] {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return func(yield func(Frame, error) bool) {
		d := decoder{limit: limit, first: true}
		chunk := make([]byte, chunkSize)
		for empty := 0; ; {
			n, err := r.Read(chunk)
			// A reader that returns nothing again and again would loop forever.
			empty++
			if n > 0 {
				empty = 0
			}
			// Data that came with an error is used before the error is.
			if more, feedErr := d.feedChunk(chunk[:n], yield); feedErr != nil {
				yield(Frame{}, feedErr)
				return
			} else if !more {
				return
			}
			switch {
			case err == io.EOF: //nolint:errorlint // io.Reader's contract; an error that wraps EOF is a failure
				if frame, ok := d.finalFrame(); unended && ok {
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
	limit     int
	first     bool   // no line is complete yet
	skipLF    bool   // the last byte was a CR that ended a line
	line      []byte // the beginning of a line that the last chunk did not complete
	data      []byte // the data lines so far, each with its newline
	event     string
	id        string
	lastEvent string // the last event name, so that a repeated one costs no allocation
}

// feedChunk consumes one chunk. It reports whether the consumer wants more frames.
func (d *decoder) feedChunk(chunk []byte, yield func(Frame, error) bool) (bool, error) {
	// A line may end in CR, LF or CRLF. The LF of a CRLF may come in the next chunk; it must not count as an empty
	// line.
	for len(chunk) > 0 {
		if d.skipLF {
			d.skipLF = false
			if chunk[0] == '\n' {
				chunk = chunk[1:]
				continue
			}
		}
		// An incomplete line is kept for the next chunk.
		end := lineEnd(chunk)
		if end < 0 {
			d.line = append(d.line, chunk...)
			return true, d.checkLimit(len(d.line))
		}
		line := chunk[:end]
		d.skipLF = chunk[end] == '\r'
		chunk = chunk[end+1:]
		// Complete a line that began in an earlier chunk.
		if len(d.line) > 0 {
			d.line = append(d.line, line...)
			line = d.line
		}
		if err := d.checkLimit(len(line)); err != nil {
			return false, err
		}
		// Parse the line. An empty one ends a frame.
		frame, ok := d.parseLine(line)
		d.line = d.line[:0]
		if ok && !yield(frame, nil) {
			return false, nil
		}
	}
	return true, nil
}

func (d *decoder) checkLimit(line int) error {
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

// parseLine parses one complete line and returns the frame that it dispatches, if any.
func (d *decoder) parseLine(line []byte) (Frame, bool) {
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
	case "error": // how llama.cpp and similar servers report a failure during the stream
		d.event = "error"
		d.data = append(append(d.data, value...), '\n')
	case "event":
		if string(value) != d.lastEvent {
			d.lastEvent = string(value)
		}
		d.event = d.lastEvent
	case "id":
		if bytes.IndexByte(value, 0) < 0 && string(value) != d.id {
			d.id = string(value)
		}
	}
	return Frame{}, false
}

// finalFrame returns the frame that the end of the stream leaves. An unended line counts only if it is data: the value
// of another field may be incomplete and look valid.
func (d *decoder) finalFrame() (Frame, bool) {
	if name, _, _ := bytes.Cut(bytes.TrimPrefix(d.line, bom), []byte(":")); string(name) == "data" ||
		string(name) == "error" {
		d.parseLine(d.line)
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
