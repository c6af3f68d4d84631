package pty

import (
	"unicode/utf8"
)

// keep is how many bytes of its output a terminal remembers at least, once it has written so much.
const minKept = 2 << 20

// offset is where something stands in all that a terminal ever wrote: in bytes, and in the units in which JavaScript
// counts text, which are the cursors of clients.
type offset struct{ bytes, units int64 }

func (p offset) advance(text []byte) offset {
	return offset{p.bytes + int64(len(text)), p.units + countUTF16(text)}
}

// countUTF16 counts as JavaScript does: a character beyond the first plane is two.
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

// ring is the newest output of a terminal, as text. The zero value is ready.
type ring struct {
	text       []byte // valid UTF-8
	start, end offset
	rest       []byte // the beginning of a character whose end did not come yet
}

// add appends output. What is no text becomes the replacement character; a character that came in pieces stays whole.
func (r *ring) add(p []byte) {
	p = append(r.rest, p...)
	whole := len(p) - incompleteSuffix(p)
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
	r.end = r.end.advance(r.text[before:])
	if len(r.text) > minKept+minKept/4 { // not at each byte: moving costs
		r.dropFront(len(r.text) - minKept)
	}
}

// incompleteSuffix returns how many bytes at the end may be the beginning of a character.
func incompleteSuffix(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// dropFront drops at least n bytes from the front.
func (r *ring) dropFront(n int) {
	for n < len(r.text) && !utf8.RuneStart(r.text[n]) {
		n++
	}
	r.start = r.start.advance(r.text[:n])
	r.text = append(make([]byte, 0, minKept+minKept/2), r.text[n:]...)
}

// offsetOf returns the place of a cursor, or the nearest that is remembered.
func (r *ring) offsetOf(cursor int64) offset {
	if cursor >= r.end.units {
		return r.end
	}
	p := r.start
	for rest := r.text; p.units < cursor; {
		_, size := utf8.DecodeRune(rest)
		p = p.advance(rest[:size])
		rest = rest[size:]
	}
	return p
}

// readAfter returns a copy of at most most bytes behind the place, whole characters; lost says that what stood there is
// forgotten, and that the text begins later.
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
