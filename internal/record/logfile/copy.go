package logfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// errorPrefix begins the line that a server writes in place of the rest of a log.
const errorPrefix = `{"error":`

// EncodeError returns the line with which a log ends that cannot be read to its end.
func EncodeError(message string) []byte {
	return append(appendQuoted([]byte(errorPrefix), message), "}\n"...)
}

// readError returns the error that the line has.
func readError(line []byte) error {
	var e struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return errors.New("the export stopped here")
	}
	return fmt.Errorf("the export stopped here: %s", e.Error)
}

// Copy copies a log that its server has just written, and checks that it is whole by its last line, which it returns.
// The events are not decoded. An error of the destination is a *WriteError.
func Copy(to io.Writer, from io.Reader) (Trailer, error) {
	in, sum := bufio.NewReaderSize(from, 256<<10), sha256.New()
	var t Trailer
	for begins := true; ; {
		part, err := in.ReadSlice('\n')
		isWhole := begins && err == nil
		switch {
		case errors.Is(err, io.EOF):
			return t, errors.New("the export was cut off: its last line is missing; export it again")
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return t, err
		case begins && bytes.HasPrefix(part, []byte(errorPrefix)):
			return t, readError(part)
		}
		if _, err := to.Write(part); err != nil {
			return t, &WriteError{err}
		}
		if isWhole && bytes.HasPrefix(part, []byte(`{"lines":`)) {
			return t, checkEnd(in, part, &t, hex.EncodeToString(sum.Sum(nil)))
		}
		_, _ = sum.Write(part) // never fails
		begins = err == nil
	}
}

// checkEnd reads the last line and checks that it is one.
func checkEnd(in *bufio.Reader, line []byte, t *Trailer, digest string) error {
	if err := json.Unmarshal(line, t); err != nil || t.SHA256 != digest {
		return errors.New("the export was damaged on its way: its checksum is wrong; export it again")
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("the export goes on after its last line; export it again")
	}
	return nil
}

// WriteError is an error of the destination of a copy.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the destination.
func (e *WriteError) Unwrap() error { return e.Err }
