package logfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Writer writes an exported log. Its errors are those of the destination, and of what a Reader would refuse.
type Writer struct {
	to    io.Writer
	sum   hash.Hash
	lines int64
	bytes int64
	line  []byte // reused
}

// NewWriter writes the first line.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	w := &Writer{to: to, sum: sha256.New()}
	h.Format, h.Version = Format, Version
	if n := len(h.Sessions); n > MaxSessions {
		return nil, fmt.Errorf("an exported log has at most %d sessions, got %d", MaxSessions, n)
	}
	line, err := json.Marshal(h, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return w, w.write(line)
}

// WriteEvent writes an event.
func (w *Writer) WriteEvent(row *store.EventRow) error {
	w.line = appendEvent(w.line[:0], row)
	if bytes.IndexByte(w.line, '\n') >= 0 { // stored JSON is compact
		return fmt.Errorf("the event %s of session %s is stored with line breaks", row.ID, row.SessionID)
	}
	return w.write(w.line)
}

// WriteFile writes what is stored outside of the log, size bytes of from, as chunks.
func (w *Writer) WriteFile(kind ChunkKind, name string, size int64, from io.Reader) error {
	data := make([]byte, min(MaxChunk, size))
	for offset := int64(0); ; {
		n, err := io.ReadFull(from, data[:min(MaxChunk, size-offset)])
		if err != nil {
			return fmt.Errorf("read the %s %s: %w", kind, name, err)
		}
		c := Chunk{kind, name, size, offset, data[:n]}
		w.line = appendChunk(w.line[:0], &c)
		if err := w.write(w.line); err != nil || c.IsLast() {
			return err
		}
		offset += int64(n)
	}
}

// Close writes the last line, with the number of contents that could not be written. It does not close the destination.
func (w *Writer) Close(missing int) error {
	line, err := json.Marshal(Trailer{w.lines, missing, hex.EncodeToString(w.sum.Sum(nil))}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return w.write(line)
}

// write writes one line.
func (w *Writer) write(line []byte) error {
	size := int64(len(line)) + 1
	if size > MaxLine {
		return fmt.Errorf("line %d would have %d bytes; an exported log has lines of at most %d", w.lines+1, size, MaxLine)
	}
	if w.bytes += size; w.bytes > MaxFile {
		return fmt.Errorf("the exported log would have more than %d bytes; export fewer sessions at once", int64(MaxFile))
	}
	w.lines++
	_, _ = w.sum.Write(line) // never fails
	_, _ = w.sum.Write([]byte{'\n'})
	if _, err := w.to.Write(line); err != nil {
		return err
	}
	_, err := w.to.Write([]byte{'\n'})
	return err
}

// appendChunk appends the line of a chunk, without the line break.
func appendChunk(b []byte, c *Chunk) []byte {
	b = appendQuoted(append(b, '{'), string(c.Kind))
	b = appendQuoted(append(b, ':'), c.Name)
	b = strconv.AppendInt(append(b, `,"size":`...), c.Size, 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), c.Offset, 10)
	b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), c.Data)
	return append(b, `"}`...)
}
