package v1

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// whole is a session with all its messages as they are stored. They are read in one look and shown piece by piece behind it:
// a client that is slow holds their bytes and no connection to the store, and never a second copy of them all.
type whole struct {
	session *session.Session
	rows    []store.RawMessage
	waiting []*session.Input
}

func readWhole(rd store.Reader, id session.ID) (v whole, err error) {
	if v.session, err = mustSession(rd, id); err != nil {
		return v, err
	}
	if v.waiting, err = readWaiting(rd, id); err != nil {
		return v, err
	}
	v.rows, err = rd.RawMessages(id, store.MessageQuery{After: -1})
	return v, err
}

const (
	leastPiece = 64       // messages
	leastWrite = 64 << 10 // bytes
)

// pieces cuts the rows where a prompt follows an answer: whether a prompt is answered is then seen in its own piece.
func pieces(rows []store.RawMessage) iter.Seq[[]store.RawMessage] {
	return func(yield func([]store.RawMessage) bool) {
		begin := 0
		for i := 1; i < len(rows); i++ {
			if i-begin < leastPiece || rows[i].Type != session.TypeUser || rows[i-1].Type != session.TypeAssistant {
				continue
			}
			if !yield(rows[begin:i]) {
				return
			}
			begin = i
		}
		yield(rows[begin:])
	}
}

// write answers with the messages, the first of which leave before the last are looked at.
func (v whole) write(w http.ResponseWriter) error {
	out, sent := bytes.NewBuffer(v.room()), false
	for piece, err := range v.shown() {
		if err != nil && sent {
			panic(http.ErrAbortHandler) // half an answer is out
		} else if err != nil {
			return err
		}
		out.Write(piece)
		if out.Len() < leastWrite {
			continue
		}
		if !sent {
			w.Header().Set("Content-Type", "application/json")
			out.Bytes()[0] = '['
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return nil // a client that is gone is told nothing
		}
		out.Reset()
		sent = true
	}
	if sent {
		_, _ = w.Write(append(out.Bytes(), ']'))
		return nil
	}
	if out.Len() == 0 {
		out.WriteByte('[')
	}
	out.Bytes()[0] = '['
	return exchange.WriteJSON(w, http.StatusOK, append(out.Bytes(), ']'))
}

// room is for the answer, or for a piece of it: what is shown takes about half as much again as what is stored.
func (v whole) room() []byte {
	n := 16
	for i := 0; i < len(v.rows) && n < leastWrite*2; i++ {
		n += len(v.rows[i].Data) * 3 / 2
	}
	return make([]byte, 0, n)
}

// ahead is how many pieces are made at the same time: thousands of messages are a tenth of a second's work for a processor.
const ahead = 2

// shown are the pieces and what waits, in their order, each message with a comma in front of it. The bytes are valid until
// the next ones are asked for.
func (v whole) shown() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffers [ahead + 1]bytes.Buffer
		var making sync.WaitGroup
		defer making.Wait()
		all := slices.Collect(pieces(v.rows))
		made := make([]chan error, len(all))
		begin := func(i int) {
			if i >= len(all) {
				return
			}
			made[i] = make(chan error, 1)
			b := &buffers[i%len(buffers)]
			b.Reset()
			making.Go(func() { made[i] <- v.show(b, all[i]) })
		}
		for i := range ahead {
			begin(i)
		}
		for i := range all {
			err := <-made[i]
			begin(i + ahead)
			if !yield(buffers[i%len(buffers)].Bytes(), err) || err != nil {
				return
			}
		}
		var b bytes.Buffer
		err := v.showWaiting(&b)
		yield(b.Bytes(), err)
	}
}

// show adds a piece, whose rows it lets go.
func (v whole) show(b *bytes.Buffer, piece []store.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil { // it would end the process, of which this is not the request's own goroutine
			err = fmt.Errorf("show messages: panic: %v\n%s", p, debug.Stack())
		}
	}()
	ms := make([]session.Message, len(piece))
	for i := range piece {
		m, err := session.DecodeMessageOf(piece[i].Type, piece[i].Data)
		if err != nil {
			return err
		}
		m.Meta().Seq, ms[i], piece[i].Data = piece[i].Seq, m, nil
	}
	return add(b, opencode.Render(v.session, ms, false)...)
}

func (v whole) showWaiting(b *bytes.Buffer) (err error) {
	for _, in := range v.waiting {
		if err = add(b, opencode.Pending(v.session, in)); err != nil {
			break
		}
	}
	return err
}

func add(b *bytes.Buffer, ms ...opencode.Message) error {
	for i := range ms {
		b.WriteByte(',')
		if err := json.MarshalWrite(b, &ms[i], json.Deterministic(true)); err != nil {
			return err
		}
	}
	return nil
}
