package v1

import (
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
	b, sent := append(v.room(), '['), false
	for piece := range pieces(v.rows) {
		var err error
		if b, err = v.show(b, piece); err != nil && sent {
			panic(http.ErrAbortHandler) // half an answer is out
		} else if err != nil {
			return err
		}
		if len(b) < leastWrite {
			continue
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(b); err != nil {
			return nil // a client that is gone is told nothing
		}
		b, sent = b[:0], true
	}
	b, err := v.showWaiting(b)
	switch {
	case err != nil && sent:
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	case sent:
		_, _ = w.Write(append(b, ']'))
		return nil
	default:
		return exchange.WriteJSON(w, http.StatusOK, append(b, ']'))
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

// show appends a piece, whose rows it lets go.
func (v whole) show(b []byte, piece []store.RawMessage) ([]byte, error) {
	ms := make([]session.Message, len(piece))
	for i := range piece {
		m, err := session.DecodeMessage(piece[i].Data)
		if err != nil {
			return b, err
		}
		m.Meta().Seq, ms[i], piece[i].Data = piece[i].Seq, m, nil
	}
	return appendMessages(b, opencode.Render(v.session, ms, false)...)
}

func (v whole) showWaiting(b []byte) (_ []byte, err error) {
	for _, in := range v.waiting {
		if b, err = appendMessages(b, opencode.Pending(v.session, in)); err != nil {
			break
		}
	}
	return b, err
}

// appendMessages appends members to a list.
func appendMessages(b []byte, ms ...opencode.Message) ([]byte, error) {
	for i := range ms {
		m, err := json.Marshal(&ms[i], json.Deterministic(true))
		if err != nil {
			return b, err
		}
		if len(b) == 0 || b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, m...)
	}
	return b, nil
}
