package v1

import (
	"bytes"
	"iter"
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
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
	v.rows, err = store.ReadRawMessages(rd, id, store.MessageQuery{After: -1})
	return v, err
}

const leastPiece = 64 // messages

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
	return httpio.List{Begin: "[", End: "]", Room: v.room()}.Write(w, v.shown())
}

// room is for the answer: what is shown takes about half as much again as what is stored.
func (v whole) room() (n int) {
	for i := range v.rows {
		n += len(v.rows[i].Data) * 3 / 2
	}
	return n
}

// shown are the pieces and what waits, each message with a comma in front of it.
func (v whole) shown() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for b, err := range httpio.EncodeOrdered(slices.Collect(pieces(v.rows)), v.show) {
			if !yield(b, err) || err != nil {
				return
			}
		}
		var b bytes.Buffer
		err := v.showWaiting(&b)
		yield(b.Bytes(), err)
	}
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
	shown := opencode.Render(v.session, ms, false)
	for i := range shown {
		if err := httpio.AppendElement(b, &shown[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v whole) showWaiting(b *bytes.Buffer) (err error) {
	for _, in := range v.waiting {
		pending := opencode.PendingMessage(v.session, in)
		if err = httpio.AppendElement(b, &pending); err != nil {
			break
		}
	}
	return err
}
