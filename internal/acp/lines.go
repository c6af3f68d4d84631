package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLongLine is the error for a line that has more bytes than allowed; the reader is behind it.
var errLongLine = errors.New("a line is too long")

// lineReader reads lines of a bounded length.
type lineReader struct {
	in  *bufio.Reader
	max int // bytes of a line, without its end
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReader(in), max: limit}
}

// next returns a copy of the next line without its end. A last line needs no end. After errLongLine the next call
// returns the line behind; other errors are those of the input.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
	isLong := false
	for {
		piece, err := r.in.ReadSlice('\n')
		// Keep the piece, unless the line is too long already: then it is only skipped. The end is not counted.
		if !isLong {
			line = append(line, piece...)
			if isLong = len(bytes.TrimRight(line, "\r\n")) > r.max; isLong {
				line = nil
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case isLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
