package provider

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// maxResponse bounds the bytes of one answer, after decompression.
const maxResponse = 64 << 20

// responseBody is a response body under the silence clock, bounded, and decompressed if the server compressed it
// against the request. Its errors are *llm.Error, except io.EOF.
type responseBody struct {
	raw      io.Reader
	failure  func(error) error // classifies an error of raw
	encoding string
	plain    io.Reader // set by the first read
	left     int64
	dog      *llm.Watchdog
}

// LimitRest bounds how long the rest of the body may take.
func (a *responseBody) LimitRest() { time.AfterFunc(drainTime, a.dog.Stop) }

func newResponseBody(ctx context.Context, dog *llm.Watchdog, resp *http.Response) *responseBody {
	return &responseBody{
		raw:      clockedReader{resp.Body, dog},
		failure:  func(err error) error { return newBodyError(ctx, err) },
		encoding: strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))),
		left:     maxResponse,
		dog:      dog,
	}
}

// clockedReader restarts the silence clock with every read that returns data.
type clockedReader struct {
	r   io.Reader
	dog *llm.Watchdog
}

func (w clockedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.dog.MarkByte()
	}
	return n, err
}

// Read implements io.Reader.
func (a *responseBody) Read(p []byte) (int, error) {
	if a.plain == nil {
		if err := a.decompress(); err != nil {
			return 0, err
		}
	}
	if a.left <= 0 {
		return 0, wire.NewOversized("the provider sent an answer of more than %d MiB", maxResponse>>20)
	}
	n, err := a.plain.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	if err == nil || err == io.EOF { //nolint:errorlint // io.Reader's contract: the bare value
		return n, err
	}
	return n, a.failure(err)
}

func (a *responseBody) decompress() error {
	switch a.encoding {
	case "", "identity":
		a.plain = a.raw
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(a.raw)
		switch {
		case errors.Is(err, gzip.ErrHeader):
			return newUndecodable("the provider declared its answer as gzip, but it is not")
		case errors.Is(err, io.EOF): // an empty body
			return io.EOF
		case err != nil:
			return a.failure(err)
		}
		a.plain = unzipped
	default:
		return newUndecodable(
			"the provider compressed its answer with %.40q although cairn does not accept compression", a.encoding,
		)
	}
	return nil
}

// newUndecodable returns the permanent error of an answer in an unsupported encoding: the server would use it again.
func newUndecodable(format string, args ...any) *llm.Error {
	e := wire.NewMalformed(
		format+"; disable compression at the server of options.baseURL or in the proxy before it", args...,
	)
	e.Permanent = true
	return e
}
