package check

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

const id = session.ID("ses_a")

// lived returns a store with one session in which everything happened that a session can live through.
func lived(t *testing.T) *storetest.Memory {
	t.Helper()
	m := storetest.NewMemory()
	log := eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})
	baseline := "You are here."
	epoch := func(rev int64, base *string) *session.Private {
		return &session.Private{Epoch: &session.Epoch{Baseline: base, Snapshot: jsontext.Value(`{}`), Revision: rev}}
	}
	model := session.ModelRef{ID: "m", ProviderID: "p"}
	source := &session.AskSource{Type: "tool", MessageID: "msg_a", CallID: "c", PartID: "prt_b"}
	for _, d := range []eventlog.Draft{
		{Data: &session.Created{Info: session.Session{ID: id, Title: "t", ProjectID: "global", RecordID: "prj_deleted"}}},
		{
			Data: &session.PromptAdmitted{
				MessageID: "msg_1", Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer,
			},
		},
		{
			Data: &session.PromptAdmitted{
				MessageID: "msg_2", Prompt: session.Prompt{Text: "later"}, Delivery: session.Queue, Hold: true,
			},
		},
		{
			Data: &session.PromptAdmitted{
				MessageID: "msg_3", Prompt: session.Prompt{Text: "never"}, Delivery: session.Queue, Hold: true,
			},
		},
		{Data: &session.InputEdited{MessageID: "msg_2", Prompt: session.Prompt{Text: "later!"}}},
		{Data: &session.InputWithdrawn{MessageID: "msg_3"}},
		{
			Data:    &session.Prompted{MessageID: "msg_1", Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer},
			Private: epoch(1, &baseline),
		},
		{Data: &session.ContextUpdated{MessageID: "msg_c", Text: "news"}, Private: epoch(2, nil)},
		{Data: &session.StepStarted{TurnFact: session.OfTurn("msg_a"), Agent: "build", Model: model}},
		{Data: &session.TextStarted{TurnFact: session.OfTurn("msg_a"), TextID: "t", PartID: "prt_a"}},
		{Data: &session.ItemCheckpointed{TurnFact: session.OfTurn("msg_a"), PartID: "prt_a", Text: "hel"}},
		{Data: &session.TextEnded{TurnFact: session.OfTurn("msg_a"), TextID: "t", PartID: "prt_a", Text: "hello"}},
		{
			Data: &session.ToolInputStarted{
				TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_b", Name: "edit",
			},
		},
		{Data: &session.ToolInputEnded{TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_b", Text: "{}"}},
		{
			Data: &session.ToolCalled{
				TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_b", Tool: "edit",
				Input: jsontext.Value(`{}`),
			},
		},
		{
			Data: &session.PermissionAsked{
				Ask: session.PendingAsk{ID: "per_1", Action: "edit", Resources: []string{"x"}, Source: source},
			},
		},
		{Data: &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce, By: "user"}},
		{
			Data: &session.ToolSuccess{
				TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_b", Structured: jsontext.Value(`{}`),
				Content: session.TextContent("ok"),
			},
		},
		{
			Data: &session.StepEnded{
				TurnFact: session.OfTurn("msg_a"), Finish: "stop", Cost: session.Dollar,
				Tokens: session.Tokens{Input: 1},
			},
		},
		{Data: &session.ShellStarted{MessageID: "msg_s", CallID: "sh", Command: "ls"}},
		{Data: &session.ShellEnded{CallID: "sh", Output: "x"}},
	} {
		_, err := log.Append(
			t.Context(), id, store.Durable,
			func(store.Tx) ([]eventlog.Draft, error) { return []eventlog.Draft{d}, nil },
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func run(t *testing.T, s store.Store) Report {
	t.Helper()
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A record that adopted the session is no violation: the log says only which one the session began with.
func TestRecordIsNoPartOfTheLog(t *testing.T) {
	m := lived(t)
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		adopter := store.Project{ID: "prj_b", ProjectID: "global"}
		return firstOf(tx.PutProject(adopter), tx.AdoptSessions(adopter, ""))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range run(t, m).Violations {
		t.Errorf("%+v", v)
	}
}

func TestSound(t *testing.T) {
	r := run(t, lived(t))
	for _, v := range r.Violations {
		t.Errorf("%+v", v)
	}
	if r.Sessions != 1 || r.Events != 21 {
		t.Errorf("checked %d sessions and %d events", r.Sessions, r.Events)
	}
	if r := run(t, storetest.NewMemory()); len(r.Violations) > 0 || r.Events != 0 {
		t.Errorf("an empty store: %+v", r)
	}
}

// sneak appends facts without their rows, as no engine does.
func sneak(facts ...session.EventData) func(store.Tx) error {
	return func(tx store.Tx) error {
		for _, d := range facts {
			head, err := tx.Head(id)
			if err != nil {
				return err
			}
			d.Stamp().SessionID = id
			var private *session.Private
			if p, ok := d.(privately); ok {
				d, private = p.EventData, p.private
			}
			row, err := eventlog.Encode(session.Event{
				ID: session.EventID(
					fmt.Sprintf("evt_x%d", head),
				), SessionID: id, Seq: head + 1, Version: d.Version(), Data: d, Private: private,
			})
			if err != nil {
				return err
			}
			if _, err := tx.InsertEvent(row); err != nil {
				return err
			}
		}
		return nil
	}
}

type privately struct {
	session.EventData
	private *session.Private
}

func begun(part session.PartID) []session.EventData {
	return []session.EventData{
		&session.StepStarted{TurnFact: session.OfTurn("msg_b"), Agent: "build"},
		&session.ToolInputStarted{TurnFact: session.OfTurn("msg_b"), CallID: "c", PartID: part},
		&session.ToolCalled{TurnFact: session.OfTurn("msg_b"), CallID: "c", PartID: part, Input: jsontext.Value(`{}`)},
	}
}

// Every planted violation is found under its name.
func TestMutants(t *testing.T) {
	prompt := session.Prompt{Text: "hi"}
	for _, mutant := range []struct {
		name string
		want Invariant
		do   func(store.Tx) error
	}{
		{
			"admitted twice", Admitted,
			sneak(&session.PromptAdmitted{MessageID: "msg_1", Prompt: prompt, Delivery: session.Steer}),
		},
		{
			"promoted twice", Admitted,
			sneak(&session.Prompted{MessageID: "msg_1", Prompt: prompt, Delivery: session.Steer}),
		},
		{
			"promoted as something else", Admitted,
			sneak(&session.Prompted{MessageID: "msg_2", Prompt: prompt, Delivery: session.Queue}),
		},
		{
			"promoted by another door", Admitted,
			sneak(&session.Prompted{
				MessageID: "msg_2", Prompt: session.Prompt{Text: "later!"}, Delivery: session.Steer,
			}),
		},
		{
			"promoted after withdrawal", Admitted,
			sneak(&session.Prompted{
				MessageID: "msg_3", Prompt: session.Prompt{Text: "never"}, Delivery: session.Queue,
			}),
		},
		{"edited after promotion", Admitted, sneak(&session.InputEdited{MessageID: "msg_1"})},
		{"edited but never admitted", Admitted, sneak(&session.InputEdited{MessageID: "msg_9"})},
		{"settled twice", Settled, sneak(&session.ToolSuccess{TurnFact: session.OfTurn("msg_a"), PartID: "prt_b"})},
		{
			"failed after success", Settled,
			sneak(&session.ToolFailed{TurnFact: session.OfTurn("msg_a"), PartID: "prt_b"}),
		},
		{
			"turn ends with an open call", Settled,
			sneak(append(begun("prt_c"), &session.StepEnded{TurnFact: session.OfTurn("msg_b")})...),
		},
		{
			"turn fails with an open call", Settled,
			sneak(append(begun("prt_c"), &session.StepFailed{TurnFact: session.OfTurn("msg_b")})...),
		},
		{"text ends twice", Terminal, sneak(&session.TextEnded{TurnFact: session.OfTurn("msg_a"), PartID: "prt_a"})},
		{"turn ends twice", Terminal, sneak(&session.StepEnded{TurnFact: session.OfTurn("msg_a")})},
		{"turn begins twice", Terminal, sneak(&session.StepStarted{TurnFact: session.OfTurn("msg_a")})},
		{
			"item begins twice", Terminal,
			sneak(
				append(begun("prt_c"), &session.ToolInputStarted{
					TurnFact: session.OfTurn("msg_b"), PartID: "prt_c",
				})...,
			),
		},
		{
			"called twice", Terminal,
			sneak(
				append(begun("prt_c"), &session.ToolCalled{
					TurnFact: session.OfTurn("msg_b"), PartID: "prt_c", Input: jsontext.Value(`{}`),
				})...,
			),
		},
		{"asked twice", Terminal, sneak(&session.PermissionAsked{Ask: session.PendingAsk{ID: "per_1"}})},
		{"answered twice", Terminal, sneak(&session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce})},
		{
			"asks after it settled", Terminal,
			sneak(&session.PermissionAsked{
				Ask: session.PendingAsk{ID: "per_2", Source: &session.AskSource{PartID: "prt_b"}},
			}),
		},
		{"reply to nothing", Parent, sneak(&session.PermissionReplied{AskID: "per_9", Reply: session.ReplyOnce})},
		{"item of no turn", Parent, sneak(&session.TextStarted{TurnFact: session.OfTurn("msg_x"), PartID: "prt_x"})},
		{
			"end of no item", Parent,
			sneak(append(begun("prt_c"), &session.TextEnded{TurnFact: session.OfTurn("msg_b"), PartID: "prt_x"})...),
		},
		{"success without call", Parent, sneak(
			&session.StepStarted{TurnFact: session.OfTurn("msg_b")}, &session.ToolInputStarted{
				TurnFact: session.OfTurn("msg_b"), PartID: "prt_c",
			},
			&session.ToolSuccess{TurnFact: session.OfTurn("msg_b"), PartID: "prt_c"},
		)},
		{"a missing message is removed", Parent, sneak(&session.MessageRemoved{MessageID: "msg_x"})},
		{"a missing prompt is edited", Parent, sneak(&session.MessageEdited{MessageID: "msg_x"})},
		{
			"a missing item is removed", Parent,
			sneak(&session.PartRemoved{TurnFact: session.OfTurn("msg_a"), PartID: "prt_x"}),
		},
		{
			"an open turn is edited", Terminal,
			sneak(append(begun("prt_c"), &session.PartEdited{TurnFact: session.OfTurn("msg_b"), PartID: "prt_c"})...),
		},
		{"news without an epoch", Epochs, sneak(&session.ContextUpdated{MessageID: "msg_d", Text: "x"})},
		{
			"epoch jumps", Epochs,
			sneak(privately{
				&session.ContextUpdated{MessageID: "msg_d", Text: "x"},
				&session.Private{Epoch: &session.Epoch{Revision: 4}},
			}),
		},
		{
			"epoch falls back", Epochs,
			sneak(privately{&session.ContextBased{}, &session.Private{Epoch: &session.Epoch{Revision: 2}}}),
		},
		{"created twice", Gapless, sneak(&session.Created{Info: session.Session{ID: id}})},
		{"open turn forgotten", Resting, func(tx store.Tx) error {
			if err := sneak(begun("prt_c")...)(tx); err != nil {
				return err
			}
			return tx.SetUnfinished(id, false)
		}},
		{"unreadable event", Readable, func(tx store.Tx) error {
			_, err := tx.InsertEvent(store.EventRow{
				ID: "evt_bad", SessionID: id, Seq: 21, Kind: session.KindRenamed, Version: 1,
				Data: jsontext.Value(`{"title":`),
			})
			return err
		}},
		{"event without its rows", Rebuilt, sneak(&session.Renamed{Title: "other"})},
		{"session row changed", Rebuilt, func(tx store.Tx) error {
			s, _, err := tx.Session(id)
			s.Cost++
			return firstOf(err, tx.PutSession(s))
		}},
		{"message changed", Rebuilt, func(tx store.Tx) error {
			m, _, err := store.FindMessage(tx, id, "msg_1")
			m.(*session.User).Text = "bye"
			return firstOf(err, tx.PutMessage(id, m, nil, 0))
		}},
		{"messages lost", Rebuilt, func(tx store.Tx) error { return tx.DeleteMessages(id, 10, 0) }},
		{"message invented", Rebuilt, func(tx store.Tx) error {
			return tx.PutMessage(
				id, &session.Synthetic{Head: session.Head{ID: "msg_z", Type: session.TypeSynthetic, Seq: 15}}, nil, 0,
			)
		}},
		{"prompt lost", Rebuilt, func(tx store.Tx) error { return tx.DeleteInput("msg_2") }},
		{"prompt pending again", Rebuilt, func(tx store.Tx) error {
			in, _, err := store.FindInput(tx, "msg_1")
			in.PromotedSeq = nil
			return firstOf(err, tx.PutInput(in))
		}},
		{"prompt invented", Rebuilt, func(tx store.Tx) error {
			return tx.PutInput(&session.Input{ID: "msg_z", SessionID: id, Delivery: session.Queue})
		}},
		{"epoch lost", Rebuilt, func(tx store.Tx) error { return tx.PutEpoch(id, nil) }},
		{"baseline changed", Rebuilt, func(tx store.Tx) error {
			e, _, err := tx.Epoch(id)
			e.Baseline = "elsewhere"
			return firstOf(err, tx.PutEpoch(id, e))
		}},
		{"ask changed", Rebuilt, func(tx store.Tx) error {
			a, _, err := store.FindAsk(tx, "per_1")
			a.Reply = ""
			return firstOf(err, tx.PutAsk(a))
		}},
		{
			"spend invented", Rebuilt,
			func(tx store.Tx) error { return tx.AddSpend(store.Spend{SessionID: id, Seq: 3, Cost: 1}) },
		},
		{"mark lost", Rebuilt, func(tx store.Tx) error { return tx.SetUnfinished(id, false) }},
	} {
		t.Run(mutant.name, func(t *testing.T) {
			m := lived(t)
			if err := m.Update(t.Context(), store.Durable, mutant.do); err != nil {
				t.Fatal(err)
			}
			r := run(t, m)
			if !slices.ContainsFunc(
				r.Violations, func(v Violation) bool { return v.Invariant == mutant.want && v.SessionID == id },
			) {
				t.Errorf("want a violation of %s, got %v", mutant.want, r.Violations)
			}
		})
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tampered serves what a broken disk might.
type tampered struct {
	store.Store
	events func([]store.EventRow) ([]store.EventRow, error)
}

type tamperedReader struct {
	store.Reader
	events func([]store.EventRow) ([]store.EventRow, error)
}

func (s tampered) View(ctx context.Context, f func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return f(tamperedReader{r, s.events}) })
}

func (r tamperedReader) Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]store.EventRow, error) {
	rows, err := r.Reader.Events(id, after, limit, kinds...)
	if err != nil {
		return nil, err
	}
	return r.events(rows)
}

// What a store refuses to take is found when a disk serves it all the same.
func TestTampered(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   Invariant
		events func([]store.EventRow) ([]store.EventRow, error)
	}{
		{
			"an event is gone", Gapless,
			func(rows []store.EventRow) ([]store.EventRow, error) { return slices.Delete(rows, 4, 5), nil },
		},
		{
			"the newest event is gone", Gapless,
			func(rows []store.EventRow) ([]store.EventRow, error) { return rows[:len(rows)-1], nil },
		},
		{
			"the first event is gone", Gapless,
			func(rows []store.EventRow) ([]store.EventRow, error) { return rows[1:], nil },
		},
		{
			"an event is there twice", Gapless,
			func(rows []store.EventRow) ([]store.EventRow, error) { return slices.Insert(rows, 5, rows[4]), nil },
		},
		{"an event of another session", Gapless, func(rows []store.EventRow) ([]store.EventRow, error) {
			rows[4].Data = jsontext.Value(`{"sessionID":"ses_b","messageID":"msg_2","prompt":{"text":"later!"}}`)
			return rows, nil
		}},
		{"a page cannot be read", Readable, func([]store.EventRow) ([]store.EventRow, error) {
			return nil, &store.Damage{SessionID: id, Seq: 3, Detail: "checksum"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, tampered{lived(t), c.events})
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == c.want }) {
				t.Errorf("want a violation of %s, got %v", c.want, r.Violations)
			}
		})
	}
}

// The events of a fork have the seqs after those of its copied messages.
func TestCopiedMessages(t *testing.T) {
	message := jsontext.Value(`{"id":"msg_1","type":"user","time":{"created":1},"text":"a"}`)
	other := jsontext.Value(`{"id":"msg_2","type":"user","time":{"created":1},"text":"b"}`)
	for _, c := range []struct {
		name   string
		copied int64
		first  int64
		want   []Invariant
	}{
		{"sound", 2, 1, nil},
		{"a message too few", 3, 1, []Invariant{Gapless}},
		{"a message too many", 1, 1, []Invariant{Gapless}},
		{"the first message is missing", 2, 2, []Invariant{Gapless}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := storetest.NewMemory()
			drafts := eventlog.NewDrafts(
				&session.Created{Info: session.Session{ID: id}, Copied: c.copied},
				&session.MessagesCopied{First: c.first, Messages: []jsontext.Value{message, other}},
			)
			_, err := eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}}).Append(
				t.Context(), id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) { return drafts, nil },
			)
			if err != nil {
				t.Fatal(err)
			}
			var got []Invariant
			for _, v := range run(t, m).Violations {
				got = append(got, v.Invariant)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("violations are %v, want %v", got, c.want)
			}
		})
	}
}

func TestReportIsBounded(t *testing.T) {
	m := lived(t)
	var facts []session.EventData
	for range MaxViolations + 10 {
		facts = append(facts, &session.TextStarted{TurnFact: session.OfTurn("msg_x"), PartID: "prt_x"})
	}
	if err := m.Update(t.Context(), store.Durable, sneak(facts...)); err != nil {
		t.Fatal(err)
	}
	if r := run(t, m); len(r.Violations) != MaxViolations || !r.Truncated {
		t.Errorf("%d violations, truncated %v", len(r.Violations), r.Truncated)
	}
}
