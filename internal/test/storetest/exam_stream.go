package storetest

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkpoint inserts, behind the session's head, an event that says what an item of msg_a holds from the offset on.
func checkpoint(tx store.Tx, part session.PartID, offset int, text string) error {
	seq, err := tx.Head("ses_a")
	if err != nil {
		return err
	}
	row := newRow("ses_a", seq+1)
	row.Kind = session.KindItemCheckpointed
	row.Data, err = session.EncodeData(&session.ItemCheckpointed{
		TurnFact: session.OfTurn("msg_a"), PartID: part, Offset: offset, Text: text,
	})
	if err != nil {
		return err
	}
	_, err = tx.InsertEvent(row)
	return err
}

// streaming is a turn with an open text and an open call.
func streamingTurn(text string) *session.Assistant {
	return &session.Assistant{Head: headOf("msg_a", session.TypeAssistant, 1), Content: []session.Content{
		&session.Text{Type: "text", ID: "t", PartID: "prt_t", Text: text, Time: &session.ItemTime{Created: 1}},
		&session.Tool{
			Type: "tool", ID: "c", PartID: "prt_c", Name: "read",
			State: session.ToolState{Status: session.ToolPending, Input: []byte(`""`)},
		},
	}}
}

// textsOf checks the texts of the items of msg_a, for every way of reading them.
func textsOf(t *testing.T, s store.Store, text, input string) {
	t.Helper()
	view(t, s, func(r store.Reader) error { return saysTexts(t, r, text, input) })
}

func saysTexts(t *testing.T, r store.Reader, text, input string) error {
	t.Helper()
	// Read the turn in each way.
	one, err := rowOrZero(store.FindMessage(r, "ses_a", "msg_a"))
	if err != nil {
		return err
	}
	newest, err := rowOrZero(store.NewestMessage(r, "ses_a", session.TypeAssistant))
	if err != nil {
		return err
	}
	all, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: 0, Before: 2})
	if err != nil {
		return err
	}
	raw, err := store.ReadRawMessages(r, "ses_a", store.MessageQuery{After: 0, Before: 2})
	if err != nil || len(all) != 1 || len(raw) != 1 {
		return fmt.Errorf("%d messages, %d raw: %w", len(all), len(raw), err)
	}
	unread, err := session.DecodeMessage(raw[0].Data)
	if err != nil {
		return err
	}
	// All ways apply the checkpoints.
	for how, m := range map[string]session.Message{"one": one, "newest": newest, "all": all[0], "raw": unread} {
		a := m.(*session.Assistant)
		checkEqual(
			t, how, []string{a.Item("prt_t").(*session.Text).Text, a.Item("prt_c").(*session.Tool).RawInput()},
			[]string{text, input},
		)
	}
	// The raw form is that of the encoder.
	again, err := encode(one)
	checkEqual(t, "the bytes", string(raw[0].Data), string(again))
	return err
}

// A turn that streams is read with the checkpoints behind it, in the transaction that writes them too.
func testStreaming(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error {
		if err := appendEvents(tx, "ses_a", 2); err != nil {
			return err
		}
		return tx.PutMessage("ses_a", streamingTurn(""), nil, 1)
	})
	textsOf(t, s, "", "")
	update(t, s, func(tx store.Tx) error {
		if err := checkpoint(tx, "prt_t", 0, "hel"); err != nil {
			return err
		}
		return saysTexts(t, tx, "hel", "")
	})
	update(t, s, func(tx store.Tx) error {
		for _, err := range []error{
			checkpoint(tx, "prt_t", 3, "lo ä"), checkpoint(tx, "prt_c", 0, `{"pa`), checkpoint(tx, "prt_x", 0, "nothing"),
			checkpoint(tx, "prt_t", 40, "a gap"), checkpoint(tx, "prt_c", 4, `th"`), checkpoint(tx, "prt_t", 7, "cut"),
		} {
			if err != nil {
				return err
			}
		}
		return appendEvents(tx, "ses_a", 1)
	})
	textsOf(t, s, "hello ä", `{"path"`)

	// Put again, it has what the checkpoints so far say, and more.
	update(t, s, func(tx store.Tx) error { return tx.PutMessage("ses_a", streamingTurn("put"), nil, 9) })
	textsOf(t, s, "put", "")
	update(t, s, func(tx store.Tx) error { return checkpoint(tx, "prt_t", 3, "!") })
	textsOf(t, s, "put!", "")

	// What has ended no checkpoint changes.
	ended := streamingTurn("end")
	ended.Time.Completed = 9
	update(t, s, func(tx store.Tx) error {
		if err := tx.PutMessage("ses_a", ended, nil, 10); err != nil {
			return err
		}
		return checkpoint(tx, "prt_t", 3, "?")
	})
	textsOf(t, s, "end", "")
}
