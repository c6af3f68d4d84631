package eventlog_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// A session whose log is damaged takes nothing more, from when the damage is seen: the end of a log before the first
// append, the rest by the first read that passes it. Others go on, and a deleted one may begin anew.
func TestDamagedTakesNothing(t *testing.T) {
	const end, middle = true, false
	for _, tt := range []struct {
		name string
		seen bool // before the first append
		sql  string
	}{
		{
			"changed at the end", end,
			`UPDATE event SET data = replace(data, 'timestamp', 'timestamq') WHERE session_id = 'ses_a' AND seq = 37`,
		},
		{
			"changed in the middle", middle,
			`UPDATE event SET data = replace(data, 'timestamp', 'timestamq') WHERE session_id = 'ses_a' AND seq = 5`,
		},
		{"gone near the end", end, `DELETE FROM event WHERE session_id = 'ses_a' AND seq = 30`},
		{"gone in the middle", middle, `DELETE FROM event WHERE session_id = 'ses_a' AND seq = 5`},
		{"the last is gone: a prompt", end, `DELETE FROM event WHERE session_id = 'ses_a' AND seq = 37`},
		{
			"the last are gone: a turn", end,
			`DELETE FROM event WHERE session_id = 'ses_a' AND seq > 32;
			DELETE FROM input WHERE session = (SELECT number FROM numbered WHERE session_id = 'ses_a')`,
		},
		{
			"the last are gone: the end of a turn", end,
			`DELETE FROM event WHERE session_id = 'ses_a' AND seq > 35;
			DELETE FROM input WHERE session = (SELECT number FROM numbered WHERE session_id = 'ses_a')`,
		},
		{"all are gone", end, `DELETE FROM event WHERE session_id = 'ses_a'`},
		{"cannot be decoded", end, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s, l := openLog(t, dir)
			for _, id := range []session.ID{"ses_a", "ses_b"} {
				fillLog(t, l, id)
			}
			if tt.sql == "" {
				undecodable(t, s, "ses_a", 38)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, dir, tt.sql)
			s, l = openLog(t, dir)
			defer s.Close()
			if !tt.seen {
				if err := rename(t, l, "ses_a", "before anybody saw it"); err != nil {
					t.Errorf("before the damage is seen: %v", err)
				}
				for _, err := range eventlog.ReplayEvents(t.Context(), l, "ses_a", -1) {
					if err != nil && !errors.Is(err, store.ErrDamaged) {
						t.Errorf("replay: %v", err)
					}
				}
			}
			before := headOf(t, s, "ses_a")
			for range 2 {
				err := rename(t, l, "ses_a", "behind damage")
				if d, ok := errors.AsType[*store.Damage](err); !ok || d.SessionID != "ses_a" {
					t.Errorf("appended behind damage: %v", err)
				}
			}
			if after := headOf(t, s, "ses_a"); after != before {
				t.Errorf("the head went from %d to %d", before, after)
			}
			if err := replay(t, l, "ses_a"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("the log was read as if it were whole: %v", err)
			}
			if err := replay(t, l, "ses_b"); err != nil {
				t.Errorf("the other session: %v", err)
			}
			if err := rename(t, l, "ses_b", "as ever"); err != nil {
				t.Errorf("the other session: %v", err)
			}
			err := l.AppendDeleted(
				t.Context(), "ses_a", session.Session{ID: "ses_a"},
				func(tx store.Tx) error { return tx.DeleteSession("ses_a") },
			)
			if err != nil {
				t.Fatal(err)
			}
			fillLog(t, l, "ses_a")
		})
	}
}

// replay reads the whole log of a session.
func replay(t *testing.T, l *eventlog.Log, id session.ID) error {
	t.Helper()
	for _, err := range eventlog.ReplayEvents(t.Context(), l, id, -1) {
		if err != nil {
			return err
		}
	}
	return nil
}

func openLog(t *testing.T, dir string) (*sqlite.Store, *eventlog.Log) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s, eventlog.New(eventlog.Config{Store: s, IDs: &session.IDs{}})
}

// fillLog writes 38 events: at the end a turn (33 to 36), and a prompt that waits (37).
func fillLog(t *testing.T, l *eventlog.Log, id session.ID) {
	t.Helper()
	m := func(name string) session.MessageID { return session.MessageID("msg_" + name + string(id)) }
	facts := []session.EventData{&session.Created{Info: session.Session{ID: id}}}
	for range 30 {
		facts = append(facts, &session.Renamed{Title: "another"})
	}
	hi := session.Prompt{Text: "hi"}
	facts = append(
		facts,
		&session.PromptAdmitted{MessageID: m("1"), Prompt: hi, Delivery: session.Steer},
		&session.Prompted{MessageID: m("1"), Prompt: hi, Delivery: session.Steer},
		&session.StepStarted{TurnFact: session.OfTurn(m("a"))},
		&session.TextStarted{TurnFact: session.OfTurn(m("a")), PartID: "prt_a"},
		&session.TextEnded{TurnFact: session.OfTurn(m("a")), PartID: "prt_a", Text: "ho"},
		&session.StepEnded{TurnFact: session.OfTurn(m("a")), Finish: "stop"},
		&session.PromptAdmitted{MessageID: m("2"), Prompt: hi, Delivery: session.Queue},
	)
	for _, f := range facts {
		if err := put(t, l, id, f); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, l *eventlog.Log, id session.ID, f session.EventData) error {
	t.Helper()
	_, err := l.Append(
		context.WithoutCancel(t.Context()), id, store.Relaxed,
		func(store.Tx) ([]eventlog.Draft, error) { return eventlog.NewDrafts(f), nil },
	)
	return err
}

func rename(t *testing.T, l *eventlog.Log, id session.ID, title string) error {
	t.Helper()
	return put(t, l, id, &session.Renamed{Title: title})
}

func headOf(t *testing.T, s store.Store, id session.ID) (n int64) {
	t.Helper()
	err := s.View(t.Context(), func(r store.Reader) (err error) {
		n, err = r.Head(id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// undecodable stores an event whose bytes are as they were written, and cannot be read.
func undecodable(t *testing.T, s store.Store, id session.ID, seq int64) {
	t.Helper()
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		_, err := tx.InsertEvent(store.EventRow{
			ID: "evt_bad", SessionID: id, Seq: seq, Kind: session.KindRenamed, Version: 1,
			Data: []byte(`{"title":7}`),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// harm changes the database while it is closed.
func harm(t *testing.T, dir, sql string) {
	t.Helper()
	c, err := zs.OpenConn(filepath.Join(dir, "cairn.db"), zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteScript(c, sql, nil), c.Close()); err != nil {
		t.Fatal(err)
	}
}
