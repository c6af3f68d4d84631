package transfer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf16"
)

// OpenText returns the document, from its beginning, as UTF-8 without a byte order mark. PowerShell writes UTF-16 with
// one, and editors add one: a document of UTF-16 is converted to a temporary file, which closeText removes.
func OpenText(from io.ReadSeeker) (text io.ReadSeeker, closeText func(), err error) {
	head := make([]byte, 3)
	n, err := io.ReadFull(from, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	// A byte order mark names the encoding; UTF-8 needs no copy.
	var order binary.ByteOrder
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return &skippedText{from, 3}, func() {}, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		_, err := from.Seek(0, io.SeekStart)
		return from, func() {}, err
	}
	// UTF-16 is converted to a file, since the document is read twice.
	f, err := os.CreateTemp("", "cairn-import-*")
	if err != nil {
		return nil, nil, err
	}
	closeText = func() { _, _ = f.Close(), os.Remove(f.Name()) }
	if _, err = from.Seek(2, io.SeekStart); err == nil {
		err = convertUTF16(f, from, order)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		closeText()
		return nil, nil, fmt.Errorf("convert UTF-16: %w", err)
	}
	return f, closeText, nil
}

// convertUTF16 writes the text as UTF-8. An invalid code unit becomes U+FFFD.
func convertUTF16(to io.Writer, from io.Reader, order binary.ByteOrder) error {
	in, out := bufio.NewReader(from), bufio.NewWriter(to)
	var high rune // the first half of a pair; 0 for none
	for unit := make([]byte, 2); ; {
		if _, err := io.ReadFull(in, unit); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		} else if err != nil {
			return err
		}
		r := rune(order.Uint16(unit))
		if pair := utf16.DecodeRune(high, r); high != 0 && pair != '\uFFFD' {
			_, _ = out.WriteRune(pair) // Flush returns the error
			high = 0
			continue
		}
		if high != 0 {
			_, _ = out.WriteRune('\uFFFD')
		}
		if high = 0; utf16.IsSurrogate(r) {
			high = r
		} else {
			_, _ = out.WriteRune(r)
		}
	}
	return out.Flush()
}

// skippedText is a text without its first bytes.
type skippedText struct {
	io.ReadSeeker
	skip int64
}

// Seek implements io.Seeker.
func (t *skippedText) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		offset += t.skip
	}
	at, err := t.ReadSeeker.Seek(offset, whence)
	return at - t.skip, err
}
