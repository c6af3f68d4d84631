package search

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// utf16Reader reads UTF-16 as UTF-8. What is no character becomes U+FFFD.
type utf16Reader struct {
	src  io.Reader
	big  bool   // the high byte comes first
	in   []byte // room for what is read; the first held bytes wait for more
	held int
	out  []byte // what is decoded and not taken yet
	room []byte // where out lies
	err  error
}

const utf16Block = 32 << 10

// newUTF16Reader decodes what follows the mark.
func newUTF16Reader(src io.Reader, big bool) *utf16Reader {
	return &utf16Reader{src: src, big: big, in: make([]byte, utf16Block), room: make([]byte, 0, 2*utf16Block)}
}

// detectUTF16 reports whether a text begins with the mark of UTF-16, and which byte comes first in it.
func detectUTF16(p []byte) (big, ok bool) {
	switch {
	case bytes.HasPrefix(p, []byte("\xff\xfe")):
		return false, true
	case bytes.HasPrefix(p, []byte("\xfe\xff")):
		return true, true
	default:
		return false, false
	}
}

// skipBOM reads a text as it is searched: as UTF-8, without a mark in front.
func skipBOM(r *bufio.Reader) *bufio.Reader {
	head, _ := r.Peek(len(workpath.BOM)) // a shorter one has no mark of three bytes
	if big, ok := detectUTF16(head); ok {
		_, _ = r.Discard(2) // was peeked
		r = bufio.NewReaderSize(newUTF16Reader(r, big), maxHitLine)
		head, _ = r.Peek(len(workpath.BOM)) // one may follow
	}
	if string(head) == workpath.BOM {
		_, _ = r.Discard(len(workpath.BOM)) // was peeked
	}
	return r
}

func (w *utf16Reader) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		n, err := w.src.Read(w.in[w.held:])
		w.err = err
		w.decode(w.in[:w.held+n])
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

// decode decodes what is whole and holds the rest back, unless nothing follows.
func (w *utf16Reader) decode(p []byte) {
	w.out = w.room[:0]
	for len(p) >= 2 {
		r, size := w.readUnit(p), 2
		if utf16.IsSurrogate(r) {
			if len(p) < 4 && w.err == nil {
				break
			}
			low := rune(0)
			if len(p) >= 4 {
				low = w.readUnit(p[2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				size = 4
			}
		}
		w.out, p = utf8.AppendRune(w.out, r), p[size:]
	}
	if errors.Is(w.err, io.EOF) && len(p) > 0 {
		w.out, p = utf8.AppendRune(w.out, utf8.RuneError), nil
	}
	w.held = copy(w.in, p)
}

func (w *utf16Reader) readUnit(p []byte) rune {
	if w.big {
		return rune(p[0])<<8 | rune(p[1])
	}
	return rune(p[1])<<8 | rune(p[0])
}
