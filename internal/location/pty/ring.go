package pty

import (
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/cutrune"
)

// minKept is the bytes of output that a terminal keeps at least.
const minKept = 2 << 20

// offset is a position in the output of a terminal: in bytes, and in the UTF-16 code units in which clients count their
// cursors.
type offset struct{ bytes, units int64 }

func (p offset) advanceBy(text []byte) offset {
	return offset{p.bytes + int64(len(text)), p.units + countUTF16(text)}
}

// countUTF16 counts UTF-16 code units.
func countUTF16(text []byte) (n int64) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if n++; r > 0xFFFF {
			n++
		}
		text = text[size:]
	}
	return n
}

// ring is the newest output of a terminal, as text. The zero value is ready to use.
type ring struct {
	text       []byte // valid UTF-8
	start, end offset
	rest       []byte // an incomplete character
}

// add appends output. Invalid bytes become U+FFFD; a character that arrives in pieces stays whole.
func (r *ring) add(p []byte) {
	p = append(r.rest, p...)
	whole := len(p) - cutrune.SuffixLen(p)
	r.rest = append([]byte(nil), p[whole:]...)
	before := len(r.text)
	if p = p[:whole]; utf8.Valid(p) {
		r.text, p = append(r.text, p...), nil
	}
	for len(p) > 0 {
		c, size := utf8.DecodeRune(p)
		r.text = utf8.AppendRune(r.text, c)
		p = p[size:]
	}
	r.end = r.end.advanceBy(r.text[before:])
	if len(r.text) > minKept+minKept/4 { // dropping in larger steps, because it moves the rest
		r.dropFront(len(r.text) - minKept)
	}
}

// dropFront drops at least n bytes from the front.
func (r *ring) dropFront(n int) {
	for n < len(r.text) && !utf8.RuneStart(r.text[n]) {
		n++
	}
	r.start = r.start.advanceBy(r.text[:n])
	r.text = append(make([]byte, 0, minKept+minKept/2), r.text[n:]...)
}

// offsetOf returns the offset of a cursor, or the nearest that is kept.
func (r *ring) offsetOf(cursor int64) offset {
	if cursor >= r.end.units {
		return r.end
	}
	p := r.start
	for rest := r.text; p.units < cursor; {
		_, size := utf8.DecodeRune(rest)
		p = p.advanceBy(rest[:size])
		rest = rest[size:]
	}
	return p
}

// readAfter returns a copy of at most most bytes after p, in whole characters. lost reports that the text at p was
// dropped and that the result begins later.
func (r *ring) readAfter(p offset, most int) (text []byte, from offset, lost bool) {
	if p.bytes < r.start.bytes {
		p, lost = r.start, true
	}
	text = r.text[p.bytes-r.start.bytes:]
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return append([]byte(nil), text...), p, lost
}
