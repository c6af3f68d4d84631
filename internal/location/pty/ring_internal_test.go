package pty

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Cursors count UTF-16 code units, wherever the output was split.
func TestCursorsCountUTF16(t *testing.T) {
	var r ring
	for _, b := range []byte("aé😀z") {
		r.add([]byte{b})
	}
	if string(r.text) != "aé😀z" || r.end != (offset{8, 5}) {
		t.Errorf("%q %+v", r.text, r.end)
	}
	for cursor, want := range map[int64]string{0: "aé😀z", 1: "é😀z", 2: "😀z", 3: "z", 4: "z", 5: "", 99: ""} {
		if text, _, lost := r.readAfter(r.offsetOf(cursor), 100); string(text) != want || lost {
			t.Errorf("behind %d: %q", cursor, text)
		}
	}
}

// Invalid bytes become U+FFFD; a character is never split.
func TestOutputIsText(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb": "a\uFFFDb", "\xf0\x9f\x98": "", "\xf0\x9f\x98\x80": "😀", "\xe2\x82x": "\uFFFD\uFFFDx",
		"\x80": "\uFFFD",
		"é":    "é",
	} {
		var r ring
		r.add([]byte(in))
		if string(r.text) != want {
			t.Errorf("%q: %q, want %q", in, r.text, want)
		}
	}
	var r ring
	r.add([]byte(strings.Repeat("é", 10)))
	if text, _, _ := r.readAfter(offset{}, 5); string(text) != "éé" {
		t.Errorf("%q", text)
	}
}

// The memory for output is bounded; a reader that is behind continues at its beginning.
func TestOutputIsBounded(t *testing.T) {
	var r ring
	for range 100 {
		r.add([]byte(strings.Repeat("x€", 100_000)))
		if len(r.text) > minKept+minKept/4 || !utf8.Valid(r.text) {
			t.Fatal(len(r.text))
		}
	}
	if r.end != (offset{40_000_000, 20_000_000}) || r.start.bytes+int64(len(r.text)) != r.end.bytes ||
		countUTF16(r.text) != r.end.units-r.start.units {
		t.Error(r.start, r.end, len(r.text))
	}
	text, from, lost := r.readAfter(offset{}, 10)
	if !lost || from != r.start || len(text) == 0 {
		t.Error(from, lost, len(text))
	}
}

// add and readAfter return the whole output, however it is split.
func FuzzRing(f *testing.F) {
	f.Add([]byte("aé😀z\xff\xf0\x9f"), uint8(3))
	f.Fuzz(func(t *testing.T, p []byte, step uint8) {
		var whole, pieces ring
		whole.add(p)
		for rest, n := p, int(step)%7+1; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			pieces.add(rest[:min(n, len(rest))])
		}
		if string(whole.text) != string(pieces.text) || whole.end != pieces.end || !utf8.Valid(whole.text) {
			t.Errorf("%q at once: %q, in pieces: %q", p, whole.text, pieces.text)
		}
	})
}
