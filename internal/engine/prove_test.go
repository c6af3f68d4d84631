package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// prove folds the whole log into an empty store and compares every projection byte for byte, and then holds the store
// against the invariants.
func prove(t testing.TB, w *world) {
	t.Helper()
	again := storetest.NewMemory()
	copyProjects(t, w.store, again)
	rows := allEvents(t, w.store)
	for _, row := range rows {
		e, err := eventlog.Decode(row)
		if err != nil {
			t.Fatal(err)
		}
		err = again.Update(context.Background(), store.Durable, func(tx store.Tx) error {
			if err := projection.Apply(tx, e); err != nil {
				return err
			}
			_, err := tx.InsertEvent(row)
			return err
		})
		if err != nil {
			t.Fatalf("replay: %v", err)
		}
	}
	if d := cmp.Diff(dump(t, w.store), dump(t, again)); d != "" {
		t.Errorf("the rows of the replayed log differ (-live +replayed):\n%s", d)
	}
	report, err := check.Run(context.Background(), w.store)
	if err != nil {
		t.Error(err)
	}
	for _, v := range report.Violations {
		t.Errorf("violation: %+v", v)
	}
}

// copyProjects copies the records of projects, which are no part of the log.
func copyProjects(t testing.TB, from, to store.Store) {
	t.Helper()
	found, err := store.Query(context.Background(), from, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{})
	})
	for _, one := range found {
		if err == nil {
			err = to.Update(context.Background(), store.Durable, func(tx store.Tx) error { return tx.PutProject(one) })
		}
	}
	if err != nil {
		t.Fatal("copy the records of projects:", err)
	}
}

func allEvents(t testing.TB, s store.Store) (rows []store.EventRow) {
	t.Helper()
	err := s.View(context.Background(), func(r store.Reader) (err error) {
		rows, err = r.Events("", 0, 0)
		return err
	})
	if err != nil {
		t.Fatal("read the store:", err)
	}
	return rows
}

// dump returns every projection of the store as text.
func dump(t testing.TB, s store.Store) []string {
	t.Helper()
	var out []string
	line := func(kind string, v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, kind+" "+string(b))
	}
	rows := allEvents(t, s)
	err := s.View(context.Background(), func(r store.Reader) error {
		sessions, err := store.ReadSessions(r, store.SessionQuery{Archived: true, Oldest: true})
		line("sessions", sessions, err)
		unfinished, err := r.Unfinished(0)
		slices.Sort(unfinished)
		line("unfinished", unfinished, err)
		for _, s := range sessions {
			messages, err := store.ReadRawMessages(r, s.ID, store.MessageQuery{After: -1})
			for _, m := range messages {
				line(fmt.Sprintf("message %s %d", s.ID, m.Seq), m.Data, err)
			}
			epoch, _, err := r.Epoch(s.ID)
			line("epoch "+string(s.ID), epoch, err)
			asks, err := r.Asks(store.AskQuery{SessionID: s.ID})
			for _, a := range asks {
				line("ask", a, err)
			}
		}
		for _, row := range rows {
			if id := inputOf(row); id != "" {
				in, ok, err := store.FindInput(r, id)
				line(fmt.Sprintf("input %s %v", id, ok), in, err)
			}
		}
		spent, err := r.Spent("", 0)
		line("spent", spent, err)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.Join(out, "\n"), "\n")
}

func inputOf(row store.EventRow) session.MessageID {
	e, err := eventlog.Decode(row)
	if err != nil {
		return ""
	}
	switch d := e.Data.(type) {
	case *session.PromptAdmitted:
		return d.MessageID
	case *session.Prompted:
		return d.MessageID
	default:
		return ""
	}
}
