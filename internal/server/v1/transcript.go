package v1

import (
	"bytes"
	"iter"
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// transcript is a session with all its messages as they are stored. One transaction reads them; they are rendered in
// chunks while the response is written. A slow client therefore holds their bytes but no connection to the store, and
// memory never holds a second copy of all of them.
type transcript struct {
	session *session.Session
	rows    []store.RawMessage
	pending []*session.Input
}

// readPending reads the prompts that wait for their promotion. They come after all other messages.
func readPending(rd store.Reader, id session.ID) ([]*session.Input, error) {
	pending, err := store.PendingInputs(rd, id, "", 0)
	slices.SortStableFunc(pending, func(x, y *session.Input) int { return int(x.AdmittedSeq - y.AdmittedSeq) })
	return pending, err
}

func readTranscript(rd store.Reader, id session.ID) (t transcript, err error) {
	if t.session, err = store.FindSession(rd, id); err != nil {
		return t, err
	}
	if t.pending, err = readPending(rd, id); err != nil {
		return t, err
	}
	t.rows, err = store.ReadRawMessages(rd, id, store.MessageQuery{After: -1})
	return t, err
}

// minChunk is the smallest number of messages that are rendered together.
const minChunk = 64

// splitRows cuts the rows where a prompt follows an answer, so that each chunk shows whether its prompts are answered.
func splitRows(rows []store.RawMessage) iter.Seq[[]store.RawMessage] {
	return func(yield func([]store.RawMessage) bool) {
		start := 0
		for i := 1; i < len(rows); i++ {
			if i-start < minChunk || rows[i].Type != session.TypeUser || rows[i-1].Type != session.TypeAssistant {
				continue
			}
			if !yield(rows[start:i]) {
				return
			}
			start = i
		}
		yield(rows[start:])
	}
}

// write answers with the messages. The first ones are sent before the last ones are rendered.
func (t transcript) write(w http.ResponseWriter) error {
	return httpio.List{Prefix: "[", Suffix: "]", SizeHint: t.sizeHint()}.Write(w, t.renderChunks())
}

// sizeHint estimates the size of the response: rendered messages take about half as much again as stored ones.
func (t transcript) sizeHint() (n int) {
	for i := range t.rows {
		n += len(t.rows[i].Data) * 3 / 2
	}
	return n
}

// renderChunks renders the rows and then the pending prompts, each message with a comma in front of it.
func (t transcript) renderChunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for b, err := range httpio.EncodeOrdered(slices.Collect(splitRows(t.rows)), t.renderRows) {
			if !yield(b, err) || err != nil {
				return
			}
		}
		var b bytes.Buffer
		err := t.renderPending(&b)
		yield(b.Bytes(), err)
	}
}

// renderRows appends a chunk and drops the data of its rows.
func (t transcript) renderRows(b *bytes.Buffer, chunk []store.RawMessage) error {
	ms := make([]session.Message, len(chunk))
	for i := range chunk {
		m, err := session.DecodeMessageOf(chunk[i].Type, chunk[i].Data)
		if err != nil {
			return err
		}
		m.Meta().Seq, ms[i], chunk[i].Data = chunk[i].Seq, m, nil
	}
	rendered := opencode.Render(t.session, ms, false)
	for i := range rendered {
		if err := httpio.AppendElement(b, &rendered[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t transcript) renderPending(b *bytes.Buffer) (err error) {
	for _, m := range opencode.PendingMessages(t.session, t.pending) {
		if err = httpio.AppendElement(b, &m); err != nil {
			break
		}
	}
	return err
}
