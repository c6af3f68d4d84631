package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// newRow returns a row for InsertEvent.
func newRow(id session.ID, seq int64) store.EventRow {
	return store.EventRow{
		ID: session.EventID(
			fmt.Sprintf("evt_%s_%d", id, seq),
		), SessionID: id, Seq: seq, Kind: session.KindRenamed, Version: 1,
		Data: jsontext.Value(fmt.Sprintf(`{"timestamp":%d,"title":"x"}`, seq)),
	}
}

// appendEvents inserts n events behind the session's head.
func appendEvents(tx store.Tx, id session.ID, n int) error {
	head, err := tx.Head(id)
	for i := int64(1); i <= int64(n) && err == nil; i++ {
		_, err = tx.InsertEvent(newRow(id, head+i))
	}
	return err
}

// feedHead returns the highest position of all events.
func feedHead(r store.Reader) (int64, error) { return r.Head("") }

func seqsOf(rows []store.EventRow) []int64 {
	out := []int64{}
	for _, r := range rows {
		out = append(out, r.Seq)
	}
	return out
}

func testEvents(t *testing.T, s store.Store) {
	// A log that does not exist has no head.
	checkEqual(
		t, "head of nothing", get(t, s, func(r store.Reader) (int64, error) { return r.Head("ses_a") }), int64(-1),
	)
	// Positions grow across sessions.
	full := newRow("ses_a", 0)
	full.Private = jsontext.Value(`{"epoch":1}`)
	var first, second int64
	update(t, s, func(tx store.Tx) (err error) {
		if first, err = tx.InsertEvent(full); err != nil {
			return err
		}
		second, err = tx.InsertEvent(newRow("ses_b", 0))
		return err
	})
	if first < 1 || second <= first {
		t.Errorf("positions are %d, then %d", first, second)
	}
	// A row is read with everything that was written, and with its position.
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 9) })
	view(t, s, func(r store.Reader) error {
		rows, err := r.Events("ses_a", -1, 1)
		full.Position = first
		checkEqual(t, "first event", rows, []store.EventRow{full})
		return err
	})
	// Ranges: after is exclusive, and limit 0 is unlimited.
	for _, tt := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{-1, 0, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{-1, 2, []int64{0, 1}},
		{3, 3, []int64{4, 5, 6}},
		{8, 100, []int64{9}},
		{9, 0, []int64{}},
		{1000, 0, []int64{}},
	} {
		rows := get(
			t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_a", tt.after, tt.limit) },
		)
		checkEqual(t, fmt.Sprintf("events after %d, limit %d", tt.after, tt.limit), seqsOf(rows), tt.want)
	}
	// Another session has no events. The head is the seq of the last event.
	none := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_none", -1, 0) })
	checkEqual(t, "events of nothing", none, []store.EventRow{})
	checkEqual(t, "head", get(t, s, func(r store.Reader) (int64, error) { return r.Head("ses_a") }), int64(9))
}

// A log may begin at any seq with the event that creates the session.
func testLateStart(t *testing.T, s store.Store) {
	// Begin at seq 7.
	created := newRow("ses_a", 7)
	created.Kind = session.KindCreated
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.InsertEvent(created); err != nil {
			return err
		}
		return appendEvents(tx, "ses_a", 3)
	})
	// Ranges before, across and after the beginning.
	for _, tt := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{-1, 0, []int64{7, 8, 9, 10}},
		{3, 2, []int64{7, 8}},
		{7, 0, []int64{8, 9, 10}},
		{10, 0, []int64{}},
	} {
		rows := get(
			t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_a", tt.after, tt.limit) },
		)
		checkEqual(t, fmt.Sprintf("events after %d, limit %d", tt.after, tt.limit), seqsOf(rows), tt.want)
	}
	checkEqual(t, "head", get(t, s, func(r store.Reader) (int64, error) { return r.Head("ses_a") }), int64(10))
	// A session that has events cannot be created again, even at a later seq.
	created.Seq = 12
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		_, err := tx.InsertEvent(created)
		return err
	})
	if err == nil {
		t.Error("the session was created again after a gap")
	}
}

func testEventsRefused(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 2) })
	gap := newRow("ses_a", 3)
	for what, row := range map[string]store.EventRow{
		"gap": gap, "repeated seq": newRow("ses_a", 1), "negative seq": newRow("ses_a", -1),
		"late start": newRow("ses_b", 1),
	} {
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
			_, err := tx.InsertEvent(row)
			return err
		})
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	// The function may go on after a refusal, and what it does then counts.
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.InsertEvent(gap); err == nil {
			t.Error("gap: no error")
		}
		return appendEvents(tx, "ses_a", 1)
	})
	rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_a", -1, 0) })
	checkEqual(t, "seqs", seqsOf(rows), []int64{0, 1, 2})
	checkEqual(t, "other session", get(t, s, func(r store.Reader) (int64, error) { return r.Head("ses_b") }), int64(-1))
}

func testEventsOfKinds(t *testing.T, s store.Store) {
	// Write three kinds in turn, and another session between them.
	update(t, s, func(tx store.Tx) error {
		for id, kinds := range map[session.ID][]session.Kind{
			"ses_a": {session.KindCreated, session.KindPrompted, session.KindRenamed},
			"ses_c": {session.KindFilesWriting, session.KindPrompted, session.KindToolFailed},
		} {
			for i := range int64(30) {
				row := newRow(id, i)
				row.Kind = kinds[i%3]
				if _, err := tx.InsertEvent(row); err != nil {
					return err
				}
			}
		}
		return appendEvents(tx, "ses_b", 3)
	})
	// Limits count matching events only, and unknown kinds match nothing.
	view(t, s, func(r store.Reader) error {
		one, err := r.Events("ses_a", 4, 3, session.KindPrompted)
		checkEqual(t, "of one kind", seqsOf(one), []int64{7, 10, 13})
		if err != nil {
			return err
		}
		two, err := r.Events("ses_a", 20, 0, session.KindPrompted, session.KindCreated, "unheard.of")
		checkEqual(t, "of two kinds", seqsOf(two), []int64{21, 22, 24, 25, 27, 28})
		if err != nil {
			return err
		}
		changes, err := r.Events("ses_c", 3, 3, session.KindToolFailed, session.KindTreeChanged, session.KindFilesWriting)
		checkEqual(t, "that record changes", seqsOf(changes), []int64{5, 6, 8})
		return err
	})
}

func testFeed(t *testing.T, s store.Store) {
	// An empty feed begins at position 0.
	checkEqual(t, "feed head of nothing", get(t, s, feedHead), int64(0))
	// Write two sessions in turn.
	for range 3 {
		update(t, s, func(tx store.Tx) error {
			for _, id := range []session.ID{"ses_a", "ses_b"} {
				if err := appendEvents(tx, id, 2); err != nil {
					return err
				}
			}
			return nil
		})
	}
	// Read the feed in pages. Positions grow strictly.
	view(t, s, func(r store.Reader) error {
		var all []store.EventRow
		after := int64(0)
		for {
			page, err := r.Events("", after, 5)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, row := range page {
				if row.Position <= after {
					t.Errorf("position %d after %d", row.Position, after)
				}
				after = row.Position
			}
			all = append(all, page...)
		}
		// Kinds filter the feed as they filter a log.
		none, err := r.Events("", 0, 0, session.KindDeleted)
		checkEqual(t, "of another kind", seqsOf(none), []int64{})
		if err != nil {
			return err
		}
		some, err := r.Events("", all[3].Position, 2, all[0].Kind, session.KindDeleted)
		checkEqual(t, "of its kind", some, all[4:6])
		if err != nil {
			return err
		}
		// The feed is complete, and each session's events are in order.
		head, err := r.Head("")
		if head != after || len(all) != 12 {
			t.Errorf("%d events to position %d, feed head %d", len(all), after, head)
		}
		next := map[session.ID]int64{}
		for _, row := range all {
			if row.Seq != next[row.SessionID] {
				t.Errorf("%s seq %d, want %d", row.SessionID, row.Seq, next[row.SessionID])
			}
			next[row.SessionID]++
		}
		return err
	})
}

// A position that a reader has seen is never given to another event.
func testFeedAfterDelete(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_b", 4) })
	seen := get(t, s, feedHead)
	for range 2 {
		update(t, s, func(tx store.Tx) error { return tx.DeleteSession("ses_b") })
		update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_b", 1) })
		rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", seen, 0) })
		if len(rows) != 1 || rows[0].Position <= seen {
			t.Fatalf("the feed after %d has the positions of %v", seen, seqsOf(rows))
		}
		seen = rows[0].Position
	}
}

// The event of a deleted session is in the feed, after everything before it, and not in the session's log; without
// such an event the newest position stays the same.
func testFeedHasEnds(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	for i := range 3 { // the id can be used again, and be gone again
		update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_b", 3) })
		seen := get(t, s, feedHead)
		update(t, s, func(tx store.Tx) error { return tx.DeleteSession("ses_b") })
		checkEqual(t, "the newest position", get(t, s, feedHead), seen)
		end := newRow("ses_b", 3)
		end.Kind = session.KindDeleted
		end.ID += session.EventID(strings.Repeat("x", i))
		var at int64
		update(t, s, func(tx store.Tx) (err error) { at, err = tx.InsertEvent(end); return err })
		rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", seen, 0) })
		if len(rows) != 1 || rows[0].ID != end.ID || rows[0].SessionID != "ses_b" || rows[0].Seq != 3 ||
			rows[0].Position != at || at <= seen {
			t.Fatalf("the feed behind %d has %v", seen, rows)
		}
		checkEqual(t, "the newest position", get(t, s, feedHead), at)
		checkEqual(t, "the head", get(t, s, func(r store.Reader) (int64, error) { return r.Head("ses_b") }), int64(-1))
		if rows := get(
			t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_b", -1, 0) },
		); len(rows) > 0 {
			t.Errorf("its log has %v", rows)
		}
	}
}

func testBytes(t *testing.T, s store.Store) {
	payloads := []jsontext.Value{
		jsontext.Value(`{"b":1e2,"a":1.0,"b":"twice"}`),
		jsontext.Value("{ \"space\" :\t[ ] }"),
		jsontext.Value(`{"nul":"\u0000","surrogate":"\ud83d","text":"ä🙂 'quoted' %_\\"}`),
		jsontext.Value(`null`),
		jsontext.Value("\"\xff not UTF-8\""),
	}
	update(t, s, func(tx store.Tx) error {
		for i, p := range payloads {
			row := newRow("ses_a", int64(i))
			row.Data, row.Private = p, p
			if _, err := tx.InsertEvent(row); err != nil {
				return err
			}
		}
		return nil
	})
	rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_a", -1, 0) })
	for i, row := range rows {
		if !bytes.Equal(row.Data, payloads[i]) || !bytes.Equal(row.Private, payloads[i]) {
			t.Errorf("stored %s, got %s and %s", payloads[i], row.Data, row.Private)
		}
	}
	// What the store returns and what it was given belong to the caller.
	clear(rows[0].Data)
	clear(payloads[1])
	again := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("ses_a", -1, 2) })
	if again[0].Data[0] != '{' || again[1].Data[0] != '{' {
		t.Errorf("the store shares bytes with its callers: %v", again)
	}
}

func testLargeRows(t *testing.T, s store.Store) {
	big := append(append([]byte(`"`), bytes.Repeat([]byte("x"), 8<<20)...), '"')
	row := newRow("ses_a", 0)
	row.Data = big
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.InsertEvent(row); err != nil {
			return err
		}
		return tx.PutMessage("ses_a", &session.User{Head: headOf("msg_big", session.TypeUser, 0), Text: string(big)}, nil, 0)
	})
	view(t, s, func(r store.Reader) error {
		rows, err := r.Events("ses_a", -1, 0)
		if len(rows) != 1 || !bytes.Equal(rows[0].Data, big) {
			t.Error("the large event is not what was stored")
		}
		if err != nil {
			return err
		}
		m, _, err := store.FindMessage(r, "ses_a", "msg_big")
		if u, ok := m.(*session.User); !ok || u.Text != string(big) {
			t.Error("the large message is not what was stored")
		}
		return err
	})
}
