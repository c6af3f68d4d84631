package v1

import (
	"bytes"
	"iter"
	"net/http"

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
	b, sent := bytes.NewBuffer(v.room()), false
	b.WriteByte('[')
	for piece := range pieces(v.rows) {
		err := v.show(b, piece)
		if err != nil && sent {
			panic(http.ErrAbortHandler) // half an answer is out
		} else if err != nil {
			return err
		}
		if b.Len() < leastWrite {
			continue
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(b.Bytes()); err != nil {
			return nil // a client that is gone is told nothing
		}
		b.Reset()
		sent = true
	}
	err := v.showWaiting(b)
	b.WriteByte(']')
	switch {
	case err != nil && sent:
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	case sent:
		_, _ = w.Write(b.Bytes())
		return nil
	default:
		return exchange.WriteJSON(w, http.StatusOK, b.Bytes())
	}
}

// room is for the answer, or for a piece of it: what is shown takes about half as much again as what is stored.
func (v whole) room() []byte {
	n := 16
	for i := 0; i < len(v.rows) && n < leastWrite*2; i++ {
		n += len(v.rows[i].Data) * 3 / 2
	}
	return make([]byte, 0, n)
}

// show adds a piece, whose rows it lets go.
func (v whole) show(b *bytes.Buffer, piece []store.RawMessage) error {
	ms := make([]session.Message, len(piece))
	for i := range piece {
		m, err := session.DecodeMessageOf(piece[i].Type, piece[i].Data)
		if err != nil {
			return err
		}
		m.Meta().Seq, ms[i], piece[i].Data = piece[i].Seq, m, nil
	}
	return v.add(b, opencode.Render(v.session, ms, false)...)
}

func (v whole) showWaiting(b *bytes.Buffer) (err error) {
	for _, in := range v.waiting {
		if err = v.add(b, opencode.Pending(v.session, in)); err != nil {
			break
		}
	}
	return err
}

// add writes members of the list behind those that there are.
func (v whole) add(b *bytes.Buffer, ms ...opencode.Message) error {
	for i := range ms {
		if all := b.Bytes(); len(all) == 0 || all[len(all)-1] != '[' {
			b.WriteByte(',')
		}
		if err := json.MarshalWrite(b, &ms[i], json.Deterministic(true)); err != nil {
			return err
		}
	}
	return nil
}
