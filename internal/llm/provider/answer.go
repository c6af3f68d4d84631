package provider

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// maxAnswer bounds the bytes of one answer, after decompression.
const maxAnswer = 64 << 20

// answer is a response body under the silence clock, unpacked if the server compressed it in spite of being told not
// to, and bounded. Its errors are *llm.Errors, except io.EOF.
type answer struct {
	raw      io.Reader
	failure  func(error) error // gives an error of raw its class
	encoding string
	plain    io.Reader // set with the first read
	left     int64
}

func newAnswer(ctx context.Context, dog *llm.Watchdog, resp *http.Response) *answer {
	return &answer{
		raw:      watched{resp.Body, dog},
		failure:  func(err error) error { return readError(ctx, err) },
		encoding: strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))),
		left:     maxAnswer,
	}
}

// watched tells the clock of every read that brought something.
type watched struct {
	r   io.Reader
	dog *llm.Watchdog
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.dog.MarkByte()
	}
	return n, err
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	if a.plain == nil {
		if err := a.unpack(); err != nil {
			return 0, err
		}
	}
	if a.left <= 0 {
		return 0, wire.NewOversized("the provider sent an answer of more than %d MiB", maxAnswer>>20)
	}
	n, err := a.plain.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	if err == nil || err == io.EOF { //nolint:errorlint // io.Reader's contract: the bare value
		return n, err
	}
	return n, a.failure(err)
}

func (a *answer) unpack() error {
	switch a.encoding {
	case "", "identity":
		a.plain = a.raw
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(a.raw)
		switch {
		case errors.Is(err, gzip.ErrHeader):
			return unreadable("the provider says that its answer is compressed with gzip, and it is not")
		case errors.Is(err, io.EOF): // an empty body
			return io.EOF
		case err != nil:
			return a.failure(err)
		}
		a.plain = unzipped
	default:
		return unreadable("the provider compressed its answer with %.40q, which it was told not to do", a.encoding)
	}
	return nil
}

// unreadable is the error of an answer in an encoding that is not read: whoever encodes it will do so again.
func unreadable(format string, args ...any) *llm.Error {
	e := wire.NewMalformed(format+"; switch compression off at the server that options.baseURL names, or in the proxy before it", args...)
	e.Permanent = true
	return e
}
