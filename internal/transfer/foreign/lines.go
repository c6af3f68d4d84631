package foreign

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxLine is the length in bytes from which on a line of a source is left out.
const MaxLine = 64 << 20

// Line is a line of a source, without its end.
type Line struct {
	Number  int // from 1
	Text    []byte
	Problem string // why Text is missing or repaired; "" if it is as it was written
}

// Name returns the name of the line for a Problem.
func (l Line) Name() string { return fmt.Sprintf("line %d", l.Number) }

// ReadLines calls give with each line that is not blank. It holds one line at a time, and the text of a line is given
// away. UTF-16 with a byte order mark becomes UTF-8. Its error is the reader's.
func ReadLines(r io.Reader, give func(Line)) error { return readLines(r, MaxLine, give) }

func readLines(r io.Reader, limit int, give func(Line)) error {
	br := bufio.NewReaderSize(decodeText(r), 64<<10)
	for n := 1; ; n++ {
		text, long, err := readLine(br, limit)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		atEnd := err != nil
		l := Line{Number: n, Text: bytes.TrimRight(text, "\r")}
		switch {
		case long:
			l.Text, l.Problem = nil, fmt.Sprintf("the line is longer than %d bytes", limit)
		case !utf8.Valid(l.Text):
			l.Text, l.Problem = bytes.ToValidUTF8(l.Text, []byte("\uFFFD")), "the line is not valid UTF-8; it was repaired"
		}
		if long || len(bytes.TrimSpace(l.Text)) > 0 {
			give(l)
		}
		if atEnd {
			return nil
		}
	}
}

// readLine reads up to the next newline, or to the end of the source with io.EOF. Of a line that is too long it reports
// so, and returns a part.
func readLine(br *bufio.Reader, limit int) (text []byte, long bool, err error) {
	for {
		piece, err := br.ReadSlice('\n')
		if len(text)+len(piece) <= limit {
			text = append(text, piece...)
		} else {
			long = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(text, []byte("\n")), long, err
		}
	}
}

// ReadText returns the text of a source that is one document, with at most limit bytes as UTF-8, and whether it was
// repaired or is longer. Its error is the reader's.
func ReadText(r io.Reader, limit int64) (text []byte, repaired, long bool, err error) {
	text, err = io.ReadAll(io.LimitReader(decodeText(r), limit+1))
	if long = int64(len(text)) > limit; long {
		text = text[:limit]
	}
	if !utf8.Valid(text) {
		text, repaired = bytes.ToValidUTF8(text, []byte("\uFFFD")), true
	}
	return text, repaired, long, err
}

// decodeText removes a byte order mark, and decodes UTF-16 if the mark says so.
func decodeText(r io.Reader) io.Reader {
	br := bufio.NewReaderSize(r, 64<<10)
	mark, _ := br.Peek(3) // an error comes again with the first read
	switch {
	case bytes.HasPrefix(mark, []byte{0xEF, 0xBB, 0xBF}):
		_, _ = br.Discard(3)
	case bytes.HasPrefix(mark, []byte{0xFF, 0xFE}):
		_, _ = br.Discard(2)
		return &utf16Reader{from: br, order: binary.LittleEndian}
	case bytes.HasPrefix(mark, []byte{0xFE, 0xFF}):
		_, _ = br.Discard(2)
		return &utf16Reader{from: br, order: binary.BigEndian}
	}
	return br
}

// utf16Reader decodes UTF-16. What is not valid becomes U+FFFD.
type utf16Reader struct {
	from  io.Reader
	order binary.ByteOrder
	high  rune   // first half of a pair that the last read ended in; 0 without one
	out   []byte // decoded, not read yet
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (int, error) {
	var raw [8 << 10]byte
	for len(u.out) == 0 {
		n, err := io.ReadFull(u.from, raw[:])
		u.decode(raw[:n])
		if err != nil && (n == 0 || !errors.Is(err, io.ErrUnexpectedEOF)) && len(u.out) == 0 {
			if u.high == 0 {
				return 0, err
			}
			u.high, u.out = 0, utf8.AppendRune(nil, utf8.RuneError)
		}
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// decode appends the text of the bytes. Only the last piece of a source has an odd number of them.
func (u *utf16Reader) decode(raw []byte) {
	for len(raw) > 0 {
		c := rune(utf8.RuneError)
		if len(raw) >= 2 {
			c = rune(u.order.Uint16(raw))
		}
		raw = raw[min(2, len(raw)):]
		switch {
		case u.high != 0:
			pair := utf16.DecodeRune(u.high, c)
			u.high, u.out = 0, utf8.AppendRune(u.out, pair)
			if pair == utf8.RuneError && !utf16.IsSurrogate(c) {
				u.out = utf8.AppendRune(u.out, c)
			}
		case c >= 0xD800 && c < 0xDC00:
			u.high = c
		default:
			u.out = utf8.AppendRune(u.out, c) // half a pair becomes U+FFFD
		}
	}
}
