package httpio

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
)

// List is a response with many elements. The first elements are sent while later ones are encoded, so that memory never
// holds all of them twice.
type List struct {
	Prefix, Suffix string // around the elements
	SizeHint       int    // expected bytes in all
}

// minWrite is the number of bytes that are collected before they are sent.
const minWrite = 64 << 10

// Write answers with the elements, which come in chunks; each element has a comma in front of it. An error before the
// first write leaves the response to the caller; a later one aborts the connection.
func (l List) Write(w http.ResponseWriter, chunks iter.Seq2[[]byte, error]) error {
	out := bytes.NewBuffer(make([]byte, 0, min(l.SizeHint, minWrite*2)+len(l.Prefix)+len(l.Suffix)))
	out.WriteString(l.Prefix)
	empty, sent := true, false
	// Buffer the first elements: until they are sent, an error can still become a response.
	for chunk, err := range chunks {
		if err != nil && sent {
			panic(http.ErrAbortHandler) // a part of the response is out
		} else if err != nil {
			return err
		}
		// Drop the comma in front of the first element.
		if empty && len(chunk) > 0 {
			chunk, empty = chunk[1:], false
		}
		out.Write(chunk)
		// Send in large pieces. The first one fixes the status.
		if out.Len() < minWrite {
			continue
		}
		if !sent {
			w.Header().Set("Content-Type", "application/json")
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return nil // the client has disconnected
		}
		out.Reset()
		sent = true
	}
	// Send the rest, or the whole list if it is small.
	out.WriteString(l.Suffix)
	if sent {
		_, _ = w.Write(out.Bytes())
		return nil
	}
	return WriteEncoded(w, http.StatusOK, out.Bytes())
}

// encodeAhead is the number of chunks that are encoded concurrently: a few thousand rows take a tenth of a second of
// one CPU.
const encodeAhead = 2

// EncodeOrdered encodes all items in their order, several at the same time. The bytes are valid until the next
// iteration.
func EncodeOrdered[T any](items []T, encode func(*bytes.Buffer, T) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffers [encodeAhead + 1]bytes.Buffer
		var encoders sync.WaitGroup
		defer encoders.Wait()
		results := make([]chan error, len(items))
		start := func(i int) {
			if i >= len(items) {
				return
			}
			results[i] = make(chan error, 1)
			b := &buffers[i%len(buffers)]
			b.Reset()
			encoders.Go(func() { results[i] <- encodeSafely(b, items[i], encode) })
		}
		for i := range encodeAhead {
			start(i)
		}
		for i := range items {
			err := <-results[i]
			start(i + encodeAhead)
			if !yield(buffers[i%len(buffers)].Bytes(), err) || err != nil {
				return
			}
		}
	}
}

// encodeSafely encodes one item and turns a panic into an error: outside of the request's goroutine it would end the
// process.
func encodeSafely[T any](b *bytes.Buffer, item T, encode func(*bytes.Buffer, T) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode a list: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return encode(b, item)
}

// rowsPerChunk is the number of rows in a chunk: more than a goroutine costs, and little of what memory holds.
const rowsPerChunk = 64

// EncodeRows encodes each row as an element of a List. It clears the rows as it encodes them.
func EncodeRows[R, E any](rows []R, convert func(R) (E, error)) iter.Seq2[[]byte, error] {
	return EncodeOrdered(slices.Collect(slices.Chunk(rows, rowsPerChunk)), func(b *bytes.Buffer, chunk []R) error {
		for i := range chunk {
			e, err := convert(chunk[i])
			if err != nil {
				return err
			}
			if err := AppendElement(b, &e); err != nil {
				return err
			}
			clear(chunk[i : i+1])
		}
		return nil
	})
}

// AppendElement appends the JSON of an element with a comma in front of it.
func AppendElement(b *bytes.Buffer, element any) error {
	b.WriteByte(',')
	return json.MarshalWrite(b, element, responseOptions)
}
