package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// streaming is a session cut off while its model was saying two things at once.
func streaming() []session.EventData {
	hi := session.Prompt{Text: "hi"}
	piece := func(part session.PartID, offset int, text string) session.EventData {
		return &session.ItemCheckpointed{TurnFact: session.OfTurn("msg_a"), PartID: part, Offset: offset, Text: text}
	}
	return []session.EventData{
		&session.Created{Info: session.Session{ID: "ses_a", Title: "streaming"}},
		&session.PromptAdmitted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer},
		&session.Prompted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer},
		&session.StepStarted{TurnFact: session.OfTurn("msg_a")},
		&session.TextStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_1"},
		piece("prt_1", 0, "one "),
		&session.ReasoningStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_2"},
		piece("prt_2", 0, "first "),
		piece("prt_1", 4, "two "),
		&session.PromptAdmitted{MessageID: "msg_2", Prompt: hi, Delivery: session.Steer},
		&session.ToolInputStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_3", CallID: "c", Name: "bash"},
		piece("prt_2", 6, "second "),
		&session.TextEnded{TurnFact: session.OfTurn("msg_a"), PartID: "prt_1", Text: "one two three"},
		piece("prt_3", 0, `{"a"`),
		piece("prt_2", 13, "third"),
	}
}

// A log that ends in the middle of a stream is salvaged to the rows that it had when it ended there, byte for byte: a
// checkpoint is part of what follows it, and of nothing that stands before.
func TestSalvageInTheMiddleOfAStream(t *testing.T) {
	facts := streaming()
	for n := 4; n <= len(facts); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			home, like := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "home")
			writeLog(t, home, facts)
			if n < len(facts) {
				harm(t, home, fmt.Sprintf(`DELETE FROM event WHERE seq = %d`, n))
			}
			writeLog(t, like, facts[:n])
			into := filepath.Join(t.TempDir(), "new")
			got, err := Host{}.Salvage(t.Context(), optionsOf(home), into)
			if err != nil || len(got.Sessions) != 1 || got.Sessions[0].Events != n ||
				got.Sessions[0].Title != "streaming" {
				t.Fatalf("%+v, %v", got, err)
			}
			if d := cmp.Diff(messageRows(t, like), messageRows(t, into)); d != "" {
				t.Errorf("-as it was +salvaged:\n%s", d)
			}
			inOrder(t, into)
		})
	}
}

// An event that cannot be read ends what is salvaged of its session, and of no other.
func TestSalvageUndecodable(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	writeLog(t, home, streaming())
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(home, "data")})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		_, err := tx.InsertEvent(
			store.EventRow{
				ID:        "evt_bad",
				SessionID: "ses_a",
				Seq:       15,
				Kind:      session.KindRenamed,
				Version:   1,
				Data:      []byte(`{"title":7}`),
			},
		)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new")
	got, err := Host{}.Salvage(t.Context(), optionsOf(home), into)
	if err != nil || len(got.Sessions) != 1 || got.Sessions[0].Events != 15 || len(got.Sessions[0].Lost) == 0 ||
		!strings.Contains(got.Sessions[0].Lost[0], "from event 15 on") {
		t.Fatalf("%+v, %v", got, err)
	}
}

// writeLog makes a home in which the session has these facts, each committed on its own at its own time.
func writeLog(t *testing.T, home string, facts []session.EventData) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(home, "data")})
	if err != nil {
		t.Fatal(err)
	}
	log := eventlog.New(eventlog.Config{Store: s, IDs: &session.IDs{}})
	for i, f := range facts {
		f.Stamp().Timestamp = int64(1000 + i)
		_, err := log.Append(
			t.Context(),
			facts[0].(*session.Created).Info.ID,
			store.Relaxed,
			func(store.Tx) ([]eventlog.Draft, error) { return eventlog.NewDrafts(f), nil },
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// messageRows are the stored messages of a home, byte for byte.
func messageRows(t *testing.T, home string) (rows []string) {
	t.Helper()
	db, err := zs.OpenConn(filepath.Join(home, "data", "cairn.db"), zs.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = sqlitex.ExecuteTransient(
		db,
		`SELECT id, place & 4294967295, through, data FROM message ORDER BY place`,
		&sqlitex.ExecOptions{
			ResultFunc: func(st *zs.Stmt) error {
				rows = append(
					rows,
					fmt.Sprint(st.ColumnText(0), " ", st.ColumnInt64(1), " ", st.ColumnInt64(2), " ", st.ColumnText(3)),
				)
				return nil
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
