package usage_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/usage"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

const day = 24 * time.Hour

// newStore returns a store with a session of two turns, its subagent of one, and the turn of a deleted session.
func newStore(t *testing.T) store.Store {
	t.Helper()
	m := storetest.NewMemory()
	spend := func(tx store.Tx, id session.ID, seq int64, at time.Duration, model string, cost session.USD) error {
		return tx.AddSpend(store.Spend{
			SessionID: id, Seq: seq, Time: at.Milliseconds(), Cost: cost, Tokens: session.Tokens{Input: 10},
			Model: session.ModelRef{ProviderID: "p", ID: model, Variant: fmt.Sprint(seq)},
		})
	}
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for _, err := range []error{
			tx.PutProject(store.Project{ID: "prj_1", Path: "/w"}),
			tx.PutSession(&session.Session{ID: "ses_a", RecordID: "prj_1", Title: "A", Time: session.SessionTime{Updated: 1}}),
			tx.PutSession(&session.Session{ID: "ses_b", ParentID: "ses_a", RecordID: "prj_1"}),
			spend(tx, "ses_a", 1, day+time.Hour, "small", 1), spend(tx, "ses_b", 1, 2*day-time.Hour, "big", 50),
			spend(tx, "ses_a", 2, 2*day+time.Hour, "small", 2), spend(tx, "ses_gone", 1, 5*day, "small", 4),
			insert(tx, "ses_fork", 3), // a fork with two messages, whose events begin with 3
			tx.PutSession(&session.Session{ID: "ses_fork", RecordID: "prj_1"}),
			tx.PutMessage("ses_fork", &session.User{Head: head("m8", session.TypeUser, 1)}, nil, 0),
			tx.PutMessage("ses_fork", &session.Assistant{Head: head("m9", session.TypeAssistant, 2), Agent: "build"}, nil, 0),
			tx.PutMessage("ses_a", &session.User{Head: head("m1", session.TypeUser, 2)}, nil, 0),
			tx.PutMessage("ses_a", &session.Assistant{
				Head: head("m2", session.TypeAssistant, 3), Agent: "build", Cost: new(session.USD(3)), Tokens: &session.Tokens{Input: 20},
				Content: []session.Content{
					call("bash", session.ToolCompleted, 30), call("bash", session.ToolError, 10), call("bash", session.ToolRunning, 0),
					command(`{"exit":3}`), command(`{"exit":0}`), command(`{"exit":null,"timeout":true}`),
					call("read", session.ToolCompleted, 5),
				},
			}, nil, 0),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// insert inserts the event that creates a session.
func insert(tx store.Tx, id session.ID, seq int64) error {
	_, err := tx.InsertEvent(store.EventRow{ID: "evt_1", SessionID: id, Seq: seq, Kind: session.KindCreated, Version: 1, Data: []byte("{}")})
	return err
}

func head(id session.MessageID, kind session.MessageType, seq int64) session.Head {
	return session.Head{ID: id, Type: kind, Seq: seq, Time: session.MessageTime{Created: day.Milliseconds()}}
}

func call(name string, status session.ToolStatus, ms int64) *session.Tool {
	return &session.Tool{
		Type: "tool", Name: name, State: session.ToolState{Status: status, Input: []byte("{}")},
		Time: session.ToolTime{Created: 1, Ran: 1, Completed: 1 + ms},
	}
}

// command returns a call whose command has ended.
func command(structured string) *session.Tool {
	c := call("bash", session.ToolCompleted, 30)
	c.State.Structured = []byte(structured)
	return c
}

func sum(turns int, cost session.USD) usage.Sum {
	return usage.Sum{Turns: turns, Cost: cost, Tokens: session.Tokens{Input: int64(10 * turns)}}
}

func TestCollect(t *testing.T) {
	m := newStore(t)
	small, big := session.ModelRef{ProviderID: "p", ID: "small"}, session.ModelRef{ProviderID: "p", ID: "big"}
	got, err := usage.Collect(t.Context(), m, usage.Query{Zone: time.UTC, Messages: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := sum(1, 3)
	agent.Tokens.Input = 20
	want := &usage.Report{
		Sum: sum(4, 57), Sessions: 3, Subagents: 1,
		Days:     []usage.Day{{"1970-01-02", sum(2, 51)}, {"1970-01-03", sum(1, 2)}, {"1970-01-06", sum(1, 4)}},
		Models:   []usage.Group[session.ModelRef]{{big, sum(1, 50)}, {small, sum(3, 7)}},
		Projects: []usage.Group[session.RecordID]{{"prj_1", sum(3, 53)}, {"", sum(1, 4)}},
		Trees:    []usage.Group[session.ID]{{"ses_a", sum(3, 53)}, {"", sum(1, 4)}}, Prompts: 1,
		Agents: []usage.Group[string]{{"build", agent}},
		Tools: []usage.Tool{
			{Name: "bash", Calls: 6, Succeeded: 2, Failed: 3, Unfinished: 1, Median: 30 * time.Millisecond},
			{Name: "read", Calls: 1, Succeeded: 1, Median: 5 * time.Millisecond},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is not selected does not count, and days are those of the zone.
func TestCollectSelected(t *testing.T) {
	m := newStore(t)
	got, err := usage.Collect(t.Context(), m, usage.Query{
		Since: (day + 2*time.Hour).Milliseconds(), Until: (4 * day).Milliseconds(), Zone: time.FixedZone("east", 2*3600),
		Sessions: map[session.ID]bool{"ses_b": true, "ses_gone": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Turns != 1 || got.Sessions != 1 || got.Days[0].Day != "1970-01-03" || got.Prompts != 0 {
		t.Errorf("%+v", got)
	}
}

// What a deleted subagent spent counts with its tree if that exists, and never as a session of its own.
func TestCollectDeletedSubagents(t *testing.T) {
	m := newStore(t)
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		var errs []error
		for i, d := range []struct{ id, parent session.ID }{
			{"ses_part", "ses_a"}, {"ses_below", "ses_part"}, {"ses_sub", "ses_gone"}, {"ses_gone", ""},
		} {
			info := session.Session{ID: d.id, ParentID: d.parent}
			data, err := json.Marshal(&session.Deleted{Info: info})
			errs = append(errs, err)
			_, err = tx.InsertEvent(store.EventRow{
				ID: session.EventID(fmt.Sprintf("evt_d%d", i)), SessionID: d.id, Kind: session.KindDeleted, Version: 1, Data: data,
			})
			errs = append(errs, err)
			if d.parent != "" {
				errs = append(errs, tx.AddSpend(store.Spend{
					SessionID: d.id, Seq: 1, Time: (5 * day).Milliseconds(), Cost: 100, Tokens: session.Tokens{Input: 10},
					Model: session.ModelRef{ProviderID: "p", ID: "big"},
				}))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := usage.Collect(t.Context(), m, usage.Query{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sessions != 6 || got.Subagents != 4 {
		t.Errorf("%d sessions, %d of them of subagents", got.Sessions, got.Subagents)
	}
	want := []usage.Group[session.ID]{{"ses_a", sum(5, 253)}, {"", sum(2, 104)}}
	if diff := cmp.Diff(want, got.Trees); diff != "" {
		t.Error(diff)
	}
}
