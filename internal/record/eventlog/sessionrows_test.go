package eventlog

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Whatever an append finds held of a session's row, it writes the fold of the session's events: after appends that
// failed, that ran for another session, and after a deletion whose id is used again at the same seq.
func TestHeldRowsAreTheFold(t *testing.T) {
	l, m := newLog(t, "ses_b")
	title := func(id session.ID) (title string, tokens int64) {
		t.Helper()
		if err := m.View(t.Context(), func(r store.Reader) error {
			s, err := store.FindSession(r, id)
			if err == nil {
				title, tokens = s.Title, s.Tokens.Input
			}
			return err
		}); err != nil {
			t.Fatal("read the session:", err)
		}
		return title, tokens
	}
	spend := func() session.EventData {
		return &session.StepFailed{
			TurnFact: session.TurnFact{AssistantMessageID: "msg_none"}, Tokens: &session.Tokens{Input: 1},
		}
	}
	for n := range int64(3) {
		add(t, l, id, renamed(fmt.Sprint("a", n)), spend(), spend())
		add(t, l, "ses_b", renamed(fmt.Sprint("b", n)), spend())
		if _, err := l.Append(t.Context(), id, store.Durable, func(store.Tx) ([]Draft, error) {
			return NewDrafts(spend(), &session.PermissionReplied{AskID: "per_none"}), nil
		}); err == nil {
			t.Fatal("a reply to no ask was appended")
		}
		if got, tokens := title(id); got != fmt.Sprint("a", n) || tokens != 2*(n+1) {
			t.Errorf("append %d: %q with %d tokens", n, got, tokens)
		}
	}
	remove := func(tx store.Tx) error { return tx.DeleteSession(id) }
	if err := l.AppendDeleted(t.Context(), id, session.Session{ID: id}, remove); err != nil {
		t.Fatal("delete the session:", err)
	}
	if l.rows.rows[id] != nil {
		t.Error("the row of a deleted session is held")
	}
	add(t, l, id, &session.Created{Info: session.Session{ID: id, Title: "new"}})
	for head(t, m, id) < 9 {
		add(t, l, id, spend())
	}
	if got, tokens := title(id); got != "new" || tokens != head(t, m, id) {
		t.Errorf("a new session with the id has %q and %d tokens", got, tokens)
	}
}

func TestSessionRowsAreBounded(t *testing.T) {
	var c sessionRows
	for n := range 3 * maxSessionRows {
		id := session.ID(fmt.Sprint("ses_", n))
		slot, _ := c.takeRow(id, 0)
		c.putRow(slot, 1, &session.Session{ID: id})
		if len(c.rows) > maxSessionRows {
			t.Fatalf("%d rows are held", len(c.rows))
		}
	}
	slot, row := c.takeRow("ses_191", 1)
	if row == nil {
		t.Fatal("the newest row is not held")
	}
	c.putRow(slot, 1, row)
	if _, row := c.takeRow("ses_191", 2); row != nil {
		t.Error("a row of another seq is returned")
	}
	c.dropRow("ses_191")
	c.putRow(slot, 2, row)
	if _, row := c.takeRow("ses_191", 2); row != nil {
		t.Error("the row of a deleted session is held again")
	}
}
