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

// utf16Reader converts UTF-16 to UTF-8. An invalid code unit becomes U+FFFD.
type utf16Reader struct {
	src  io.Reader
	big  bool   // big-endian
	in   []byte // input buffer; the first held bytes are an incomplete character
	held int
	out  []byte // converted bytes that Read has not returned yet
	room []byte // the buffer of out
	err  error
}

const utf16Block = 32 << 10

// newUTF16Reader converts the text after the byte order mark.
func newUTF16Reader(src io.Reader, big bool) *utf16Reader {
	return &utf16Reader{src: src, big: big, in: make([]byte, utf16Block), room: make([]byte, 0, 2*utf16Block)}
}

// detectUTF16 reports whether a text begins with a UTF-16 byte order mark, and whether it is big-endian.
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

// skipBOM returns a reader of the text as it is searched: in UTF-8, without a byte order mark.
func skipBOM(r *bufio.Reader) *bufio.Reader {
	head, _ := r.Peek(len(workpath.BOM)) // a shorter text has no UTF-8 mark
	if big, ok := detectUTF16(head); ok {
		_, _ = r.Discard(2) // cannot fail: peeked before
		r = bufio.NewReaderSize(newUTF16Reader(r, big), maxHitLine)
		head, _ = r.Peek(len(workpath.BOM)) // UTF-16 may contain a second mark
	}
	if string(head) == workpath.BOM {
		_, _ = r.Discard(len(workpath.BOM)) // cannot fail: peeked before
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

// decode converts the complete characters of p and keeps an incomplete one, unless the input has ended.
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
