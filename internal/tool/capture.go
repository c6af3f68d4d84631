package tool

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/cutrune"
	"github.com/cairn-dev/cairn/internal/session"
)

// Capture takes text of any length in bounded memory: it keeps the beginning, the end and the counts. Once the text
// exceeds the limits, all of it is written to a managed file; bytes that the file cannot take are left out between its
// beginning and its end, with a note. NUL bytes and invalid UTF-8 become U+FFFD. Not safe for concurrent use.
type Capture struct {
	outputs *Outputs
	owner   session.ID // of the file; "" if unknown
	limits  Limits
	log     *slog.Logger

	carry []byte // an incomplete character at the end of the last write, at most 3 bytes
	head  []byte // the first limits.Bytes bytes
	tail  ring   // the last limits.Bytes bytes
	bytes int64
	feeds int64 // newlines

	spool *spool // nil until the limits are exceeded
	lost  error  // the error because of which there is no file
}

// NewCapture returns an empty Capture. Without outputs, text beyond the limits is lost.
func NewCapture(outputs *Outputs, limits Limits, log *slog.Logger) *Capture {
	limits = limits.withDefaults()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Capture{outputs: outputs, limits: limits, log: log, tail: ring{size: limits.Bytes}}
}

// SetSession sets the session that owns the file, and returns c.
func (c *Capture) SetSession(id session.ID) *Capture {
	c.owner = id
	return c
}

// KeepAll makes the capture write everything to a file, whatever the limits, and returns its path. Call it before the
// first Write.
func (c *Capture) KeepAll() (path string, err error) {
	c.openSpool()
	if c.lost != nil {
		return "", c.lost
	}
	return c.spool.path(), nil
}

// CaptureResult is the result of a Capture.
type CaptureResult struct {
	Text  string // the whole text if it is within the limits, else its beginning, a marker and its end
	Path  string // of the managed file; "" without a file
	Bytes int64  // of the whole text, as valid UTF-8
	Lines int64  // newlines plus one
	Cut   bool   // Text is not the whole text

	missing int64  // bytes that are not in the managed file either
	reason  string // why they are missing
}

// Write takes p. It never fails: bytes that cannot be kept are counted.
func (c *Capture) Write(p []byte) (int, error) {
	n := len(p)
	if len(c.carry) > 0 {
		p = append(c.carry, p...)
		c.carry = nil
	}
	if rest := cutrune.SuffixLen(p); rest > 0 {
		c.carry = bytes.Clone(p[len(p)-rest:])
		p = p[:len(p)-rest]
	}
	c.keepBytes(sanitizeUTF8(p))
	return n, nil
}

func (c *Capture) keepBytes(p []byte) {
	before := len(c.head)
	c.head = append(c.head, p[:min(len(p), c.limits.Bytes-before)]...)
	c.tail.write(p)
	c.bytes += int64(len(p))
	c.feeds += int64(bytes.Count(p, []byte{'\n'}))
	switch {
	case c.spool != nil:
		c.store(p)
	case c.lost == nil && c.isExceeded():
		c.openSpool()
		c.store(c.head[:before]) // the head was the whole text so far
		c.store(p)
	}
}

func (c *Capture) isExceeded() bool {
	return c.bytes > int64(c.limits.Bytes) || c.feeds+1 > int64(c.limits.Lines)
}

func (c *Capture) openSpool() {
	if c.outputs == nil {
		c.lost = os.ErrInvalid
		return
	}
	c.spool, c.lost = c.outputs.newSpool(c.owner, c.limits.Bytes+256)
}

func (c *Capture) store(p []byte) {
	if c.spool == nil {
		return
	}
	if err := c.spool.write(p); err != nil {
		c.spool, c.lost = nil, err
	}
}

// Len returns the bytes written so far, as valid UTF-8.
func (c *Capture) Len() int64 { return c.bytes }

// ReadTail returns the end of the text, at most n bytes, beginning at a character.
func (c *Capture) ReadTail(n int) string {
	t := c.tail.bytes()
	if len(t) > n {
		t = t[runeAfter(t, len(t)-n):]
	}
	return string(t)
}

// Finish ends the capture and closes the file. Call it once. It ignores the end of ctx, so that the output of a
// cancelled call is kept too.
func (c *Capture) Finish(ctx context.Context) CaptureResult {
	if len(c.carry) > 0 {
		c.keepBytes(sanitizeUTF8(c.carry))
		c.carry = nil
	}
	done := CaptureResult{Bytes: c.bytes, Lines: c.feeds + 1, Cut: c.isExceeded()}
	if done.Cut || c.spool != nil {
		c.finishFile(context.WithoutCancel(ctx), &done)
	}
	if !done.Cut {
		done.Text = string(c.head)
		return done
	}
	done.Text = c.limits.formatPreview(c.head, c.tail.bytes(), done.formatMarker())
	return done
}

// finishFile completes the file and records in done what it contains.
func (c *Capture) finishFile(ctx context.Context, done *CaptureResult) {
	if c.spool != nil {
		done.missing, c.lost = c.spool.finish(ctx, c.bytes, c.tail.bytes())
	}
	switch {
	case c.lost == nil:
		done.Path, done.reason = c.spool.path(), c.spool.full
	case c.outputs != nil:
		c.log.ErrorContext(ctx, "tool output beyond the limits could not be kept", "error", c.lost, "bytes", c.bytes)
	}
}

// sanitizeUTF8 returns p, or a copy in which NUL and invalid UTF-8 are U+FFFD.
func sanitizeUTF8(p []byte) []byte {
	if utf8.Valid(p) && bytes.IndexByte(p, 0) < 0 {
		return p
	}
	return bytes.ReplaceAll(toValid(p), []byte{0}, []byte("\uFFFD"))
}

// toValid replaces each invalid byte by itself, so that the pieces of a stream give the same result as the whole.
func toValid(p []byte) []byte {
	out := make([]byte, 0, len(p)+len(p)/4)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		out = utf8.AppendRune(out, r)
		p = p[n:]
	}
	return out
}

// runeAfter returns the first start of a character in p at or after i.
func runeAfter(p []byte, i int) int {
	for i < len(p) && !utf8.RuneStart(p[i]) {
		i++
	}
	return i
}

// runeBefore returns the last start of a character in p at or before i; len(p) counts as one.
func runeBefore(p []byte, i int) int {
	for i > 0 && i < len(p) && !utf8.RuneStart(p[i]) {
		i--
	}
	return i
}

// ring keeps the last size bytes written to it.
type ring struct {
	size int
	buf  []byte
	at   int // position of the next byte, once buf is full
}

func (r *ring) write(p []byte) {
	if len(p) >= r.size {
		r.buf = append(r.buf[:0], p[len(p)-r.size:]...)
		r.at = 0
		return
	}
	if n := min(len(p), r.size-len(r.buf)); n > 0 {
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.at:], p)
		p = p[n:]
		r.at = (r.at + n) % r.size
	}
}

// bytes returns a copy of the content in order, beginning at a character.
func (r *ring) bytes() []byte {
	if len(r.buf) < r.size {
		return bytes.Clone(r.buf)
	}
	all := append(bytes.Clone(r.buf[r.at:]), r.buf[:r.at]...)
	return all[runeAfter(all, 0):]
}
