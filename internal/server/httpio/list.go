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

// List is an answer with many members. They leave while later ones are made: the first before the last is looked at, and
// there is never a second copy of them all.
type List struct {
	Begin, End string // what stands around the members
	Room       int    // bytes that all of it may take; more is no error
}

const minWrite = 64 << 10 // bytes

// Write answers with the members, which come in pieces, each member with a comma in front of it. Nothing is written if an
// error is before the first bytes that leave; later it ends the connection.
func (l List) Write(w http.ResponseWriter, pieces iter.Seq2[[]byte, error]) error {
	out := bytes.NewBuffer(make([]byte, 0, min(l.Room, minWrite*2)+len(l.Begin)+len(l.End)))
	out.WriteString(l.Begin)
	empty, sent := true, false
	for piece, err := range pieces {
		if err != nil && sent {
			panic(http.ErrAbortHandler) // half an answer is out
		} else if err != nil {
			return err
		}
		if empty && len(piece) > 0 {
			piece, empty = piece[1:], false
		}
		out.Write(piece)
		if out.Len() < minWrite {
			continue
		}
		if !sent {
			w.Header().Set("Content-Type", "application/json")
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return nil // a client that is gone is told nothing
		}
		out.Reset()
		sent = true
	}
	out.WriteString(l.End)
	if sent {
		_, _ = w.Write(out.Bytes())
		return nil
	}
	return WriteJSON(w, http.StatusOK, out.Bytes())
}

// ahead is how many pieces are made at the same time: thousands of rows are a tenth of a second's work for a processor.
const encodeAhead = 2

// EncodeOrdered shows all in their order, some at the same time. The bytes are valid until the next ones are asked for.
func EncodeOrdered[T any](all []T, show func(*bytes.Buffer, T) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffers [encodeAhead + 1]bytes.Buffer
		var making sync.WaitGroup
		defer making.Wait()
		made := make([]chan error, len(all))
		begin := func(i int) {
			if i >= len(all) {
				return
			}
			made[i] = make(chan error, 1)
			b := &buffers[i%len(buffers)]
			b.Reset()
			making.Go(func() { made[i] <- encodeSafely(b, all[i], show) })
		}
		for i := range encodeAhead {
			begin(i)
		}
		for i := range all {
			err := <-made[i]
			begin(i + encodeAhead)
			if !yield(buffers[i%len(buffers)].Bytes(), err) || err != nil {
				return
			}
		}
	}
}

// encodeSafely shows one. A panic would end the process, of which this is not the request's own goroutine.
func encodeSafely[T any](b *bytes.Buffer, one T, show func(*bytes.Buffer, T) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("show a list: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return show(b, one)
}

// rowsPerChunk is how many members are made at a time: more than starting it costs, and little of what is held.
const rowsPerChunk = 64

// EncodeRows shows each row as a member of a List. The rows are let go as they are shown.
func EncodeRows[R, M any](rows []R, show func(R) (M, error)) iter.Seq2[[]byte, error] {
	return EncodeOrdered(slices.Collect(slices.Chunk(rows, rowsPerChunk)), func(b *bytes.Buffer, piece []R) error {
		for i := range piece {
			m, err := show(piece[i])
			if err != nil {
				return err
			}
			if err := AppendElement(b, &m); err != nil {
				return err
			}
			clear(piece[i : i+1])
		}
		return nil
	})
}

// AppendElement adds a member with a comma in front of it.
func AppendElement(b *bytes.Buffer, m any) error {
	b.WriteByte(',')
	return json.MarshalWrite(b, m, responseOptions)
}
