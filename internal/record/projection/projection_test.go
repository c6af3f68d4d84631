package projection_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

const id = session.ID("ses_a")

func open(t *testing.T) (*storetest.Memory, func(id session.ID, d session.EventData, p *session.Private) error) {
	t.Helper()
	m := storetest.NewMemory()
	log := eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})
	add := func(id session.ID, d session.EventData, p *session.Private) error {
		_, err := log.Append(t.Context(), id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
			return []eventlog.Draft{{Data: d, Private: p}}, nil
		})
		return err
	}
	for _, id := range []session.ID{id, "ses_b"} {
		if err := add(id, &session.Created{Info: session.Session{ID: id}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return m, add
}

func epoch(revision int64, baseline string) *session.Private {
	e := &session.Epoch{Snapshot: jsontext.Value(`{}`), Revision: revision}
	if baseline != "" {
		e.Baseline = &baseline
	}
	return &session.Private{Epoch: e}
}

// What does not fit the rows is refused, by a code or an error that says why.
func TestRefused(t *testing.T) {
	hi, ask := session.Prompt{Text: "hi"}, session.PendingAsk{ID: "per_1", Action: "edit"}
	_, add := open(t)
	for i, step := range []struct {
		id      session.ID
		do      session.EventData
		private *session.Private
		want    error // nil: it fits
	}{
		{id, &session.Created{Info: session.Session{ID: id}}, nil, &session.Error{Code: session.CodeConflict}},
		{"ses_none", &session.Renamed{Title: "x"}, nil, &session.Error{Code: session.CodeNotFound}},
		{id, &session.PromptAdmitted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer}, nil, nil},
		{
			id, &session.PromptAdmitted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{
			"ses_b", &session.PromptAdmitted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{
			id, &session.Prompted{MessageID: "msg_1", Prompt: session.Prompt{Text: "ho"}, Delivery: session.Steer},
			nil, &session.Error{Code: session.CodeConflict},
		},
		{
			id, &session.Prompted{MessageID: "msg_1", Prompt: hi, Delivery: session.Queue}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{
			id, &session.InputReordered{MessageIDs: []session.MessageID{"msg_1", "msg_1"}}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{id, &session.InputReordered{}, nil, &session.Error{Code: session.CodeConflict}},
		{id, &session.ContextBased{}, epoch(1, ""), projection.ErrEpoch},
		{id, &session.ContextBased{}, epoch(2, "x"), projection.ErrEpoch},
		{id, &session.Prompted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer}, epoch(1, "base"), nil},
		{id, &session.ContextUpdated{MessageID: "msg_u", Text: "x"}, epoch(1, ""), projection.ErrEpoch},
		{id, &session.ContextUpdated{MessageID: "msg_u", Text: "x"}, epoch(2, ""), nil},
		{
			id, &session.Prompted{MessageID: "msg_1", Prompt: hi, Delivery: session.Steer}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{id, &session.InputWithdrawn{MessageID: "msg_1"}, nil, &session.Error{Code: session.CodeConflict}},
		{id, &session.InputEdited{MessageID: "msg_9"}, nil, &session.Error{Code: session.CodeNotFound}},
		{id, &session.PromptAdmitted{MessageID: "msg_u", Prompt: hi}, nil, &session.Error{Code: session.CodeConflict}},
		{
			"ses_b", &session.PromptAdmitted{MessageID: "msg_u", Prompt: hi}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{"ses_b", &session.PromptAdmitted{MessageID: "msg_b", Prompt: hi}, nil, nil},
		{id, &session.InputWithdrawn{MessageID: "msg_b"}, nil, &session.Error{Code: session.CodeNotFound}},
		{
			id, &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce}, nil,
			&session.Error{Code: session.CodeNotFound},
		},
		{id, &session.PermissionAsked{Ask: ask}, nil, nil},
		{id, &session.PermissionAsked{Ask: ask}, nil, &session.Error{Code: session.CodeConflict}},
		{
			"ses_b", &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce}, nil,
			&session.Error{Code: session.CodeNotFound},
		},
		{id, &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce}, nil, nil},
		{
			id, &session.PermissionReplied{AskID: "per_1", Reply: session.ReplyReject}, nil,
			&session.Error{Code: session.CodeConflict},
		},
		{id, &session.Moved{Location: session.Location{Directory: "/x"}}, nil, nil},
		{id, &session.ContextUpdated{MessageID: "msg_v", Text: "x"}, epoch(3, ""), projection.ErrEpoch},
		{id, &session.ContextBased{}, epoch(1, "there"), nil},
	} {
		if err := add(step.id, step.do, step.private); !errors.Is(err, step.want) {
			t.Errorf("step %d, %s: %v, want %v", i, step.do.Kind(), err, step.want)
		}
	}
}

// The mark by which a restart finds work.
func TestUnfinished(t *testing.T) {
	prompt := func(m session.MessageID, hold bool) session.EventData {
		return &session.PromptAdmitted{
			MessageID: m, Prompt: session.Prompt{Text: "x"}, Delivery: session.Queue, Hold: hold,
		}
	}
	promoted := &session.Prompted{MessageID: "msg_1", Prompt: session.Prompt{Text: "x"}, Delivery: session.Queue}
	started := &session.StepStarted{TurnFact: session.OfTurn("msg_a")}
	ended := &session.StepEnded{TurnFact: session.OfTurn("msg_a"), Finish: "stop"}
	failed := func(r session.Reason) session.EventData {
		return &session.StepFailed{TurnFact: session.OfTurn("msg_a"), Error: *session.Fail(r, "x")}
	}
	stopped := func(r session.Reason) session.EventData { return &session.Interrupted{Error: *session.Fail(r, "x")} }
	called := func(r session.Reason) []session.EventData {
		return []session.EventData{
			prompt("msg_1", false), promoted, started,
			&session.ToolInputStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_a"},
			&session.ToolCalled{TurnFact: session.OfTurn("msg_a"), PartID: "prt_a", Input: jsontext.Value(`{}`)},
			&session.ToolFailed{
				TurnFact: session.OfTurn("msg_a"), PartID: "prt_a", Error: *session.Fail(r, "x"),
			}, ended,
		}
	}
	for _, c := range []struct {
		name string
		log  []session.EventData
		want bool
	}{
		{"new", nil, false},
		{"admitted", []session.EventData{prompt("msg_1", false)}, true},
		{"held", []session.EventData{prompt("msg_1", true)}, false},
		{"promoted", []session.EventData{prompt("msg_1", true), promoted}, true},
		{"answered", []session.EventData{prompt("msg_1", false), promoted, started, ended}, false},
		{
			"answered, another waits",
			[]session.EventData{prompt("msg_1", false), prompt("msg_2", false), promoted, started, ended},
			true,
		},
		{
			"answered, a held one waits",
			[]session.EventData{prompt("msg_1", false), prompt("msg_2", true), promoted, started, ended},
			false,
		},
		{"calls to be answered", called(session.ReasonTool), true},
		{"calls of the last step", called(session.ReasonSteps), false},
		{"failed", []session.EventData{prompt("msg_1", false), promoted, started, failed(session.ReasonAPI)}, false},
		{
			"failed, another waits",
			[]session.EventData{
				prompt("msg_1", false), prompt("msg_2", false), promoted, started, failed(session.ReasonAPI),
			},
			true,
		},
		{
			"cut off by the end of the process",
			[]session.EventData{prompt("msg_1", false), promoted, started, failed(session.ReasonInterrupted)},
			true,
		},
		{
			"stopped by the user",
			[]session.EventData{
				prompt("msg_1", false), prompt("msg_2", false), promoted, started, failed(session.ReasonAborted),
			},
			false,
		},
		{
			"declined",
			[]session.EventData{
				prompt("msg_1", false), prompt("msg_2", false), promoted, started, failed(session.ReasonDenied),
			},
			false,
		},
		{
			"interrupted between turns",
			[]session.EventData{prompt("msg_1", false), promoted, stopped(session.ReasonAborted)},
			false,
		},
		{"blocked", []session.EventData{prompt("msg_1", false), stopped(session.ReasonUnavailable)}, true},
		{
			"stopped, then prompted",
			[]session.EventData{
				prompt("msg_1", false), promoted, stopped(session.ReasonAborted), prompt("msg_2", false),
			},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, add := open(t)
			for _, d := range c.log {
				if err := add(id, d, nil); err != nil {
					t.Fatal(err)
				}
			}
			err := m.View(t.Context(), func(r store.Reader) error {
				ids, err := r.Unfinished(0)
				if slices.Contains(ids, id) != c.want {
					t.Errorf("unfinished: %v, want %v", ids, c.want)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
