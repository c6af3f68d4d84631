package run

import (
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// story makes the events of a session from payloads, 100 ms apart.
func story(data ...session.EventData) []session.Event {
	events := make([]session.Event, len(data))
	for i, d := range data {
		d.Stamp().Timestamp, d.Stamp().SessionID = int64(1000+100*i), "ses_1"
		events[i] = session.Event{ID: "evt_1", SessionID: "ses_1", Seq: int64(i + 1), Version: d.Version(), Data: d}
	}
	return events
}

func mine() session.EventData { return &session.Prompted{MessageID: "msg_mine"} }

func begin(id session.MessageID) session.EventData {
	return &session.StepStarted{
		TurnFact: session.OfTurn(id),
		Agent:    "build",
		Model:    session.ModelRef{ProviderID: "p", ID: "m"},
	}
}

func text(id session.MessageID, s string) session.EventData {
	return &session.TextEnded{TurnFact: session.OfTurn(id), TextID: "t", PartID: "prt_t", Text: s}
}

func called(part session.PartID, tool, input string) session.EventData {
	return &session.ToolCalled{
		TurnFact: session.OfTurn("msg_a"),
		CallID:   "c",
		PartID:   part,
		Tool:     tool,
		Input:    jsontext.Value(input),
	}
}

func end(finish string) session.EventData {
	return &session.StepEnded{
		TurnFact: session.OfTurn("msg_a"),
		Finish:   finish,
		Cost:     session.Dollar / 100,
		Tokens:   session.Tokens{Input: 10, Output: 5},
	}
}

func failed(r session.Reason, msg string) session.EventData {
	return &session.StepFailed{TurnFact: session.OfTurn("msg_a"), Error: *session.Fail(r, msg)}
}

func asked(part session.PartID) session.EventData {
	return &session.PermissionAsked{Ask: session.PendingAsk{
		ID: "per_1", SessionID: "ses_1", Action: "bash", Resources: []string{"ls"}, Source: &session.AskSource{PartID: part},
	}}
}

func replied(r session.Reply, by session.ReplyBy) session.EventData {
	return &session.PermissionReplied{AskID: "per_1", Reply: r, By: by}
}

func TestProgressOutcome(t *testing.T) {
	tests := map[string]struct {
		events []session.EventData
		code   cli.ExitCode
		text   string
	}{
		"an answer": {
			[]session.EventData{mine(), begin("msg_a"), text("msg_a", "hi"), end("stop")},
			cli.ExitOK,
			"hi",
		},
		"the last turn's text": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				text("msg_a", "first"),
				end("tool-calls"),
				begin("msg_b"),
				text("msg_b", "then"),
				text("msg_b", "more"),
				end("stop"),
			},
			cli.ExitOK,
			"then\nmore",
		},
		"a turn that is silent": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				text("msg_a", "first"),
				end("tool-calls"),
				begin("msg_b"),
				end("stop"),
			},
			cli.ExitOK,
			"first",
		},
		"a retry that went well": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				failed(session.ReasonAPI, "busy"),
				&session.Retried{Attempt: 1},
				begin("msg_b"),
				text("msg_b", "hi"),
				end("stop"),
			},
			cli.ExitOK,
			"hi",
		},
		"the provider": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonQuota, "no money")},
			cli.ExitProvider,
			"",
		},
		"the key": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonAuth, "no key")},
			cli.ExitProvider,
			"",
		},
		"filtered": {
			[]session.EventData{mine(), begin("msg_a"), end("content-filter")},
			cli.ExitProvider,
			"",
		},
		"the model is gone": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonModel, "no model")},
			cli.ExitUsage,
			"",
		},
		"interrupted in a turn": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonAborted, "stop")},
			cli.ExitInterrupted,
			"",
		},
		"interrupted between turns": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				end("tool-calls"),
				&session.Interrupted{Error: *session.Fail(session.ReasonAborted, "stop")},
			},
			cli.ExitInterrupted,
			"",
		},
		"the budget": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				end("tool-calls"),
				&session.Interrupted{Error: *session.Fail(session.ReasonBudget, "used up")},
			},
			cli.ExitBudget,
			"",
		},
		"denied, and went on": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "bash", `{"command":"ls"}`),
				asked("prt_1"),
				replied(session.ReplyReject, "policy"),
				&session.ToolFailed{PartID: "prt_1", Error: *session.Fail(session.ReasonDenied, "no")},
				end("tool-calls"),
				begin("msg_b"),
				text("msg_b", "sorry"),
				end("stop"),
			},
			cli.ExitDenied,
			"sorry",
		},
		"denied by a rule": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "bash", `{"command":"ls"}`),
				&session.ToolFailed{PartID: "prt_1", Error: *session.Fail(session.ReasonDenied, "no")},
				end("stop"),
			},
			cli.ExitDenied,
			"",
		},
		"declined": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "bash", `{}`),
				asked("prt_1"),
				replied(session.ReplyReject, "user"),
				failed(session.ReasonDenied, "no"),
			},
			cli.ExitDenied,
			"",
		},
		"allowed": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "bash", `{}`),
				asked("prt_1"),
				replied(session.ReplyOnce, "user"),
				text("msg_a", "Done."),
				end("stop"),
			},
			cli.ExitOK,
			"Done.",
		},
		"reasoning alone": {[]session.EventData{mine(), begin("msg_a"), end("stop")}, cli.ExitProvider, ""},
		"withdrawn by the interrupt": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "bash", `{}`),
				asked("prt_1"),
				replied(session.ReplyReject, "interrupt"),
				failed(session.ReasonAborted, "stop"),
			},
			cli.ExitInterrupted,
			"",
		},
		"never promoted": {
			[]session.EventData{begin("msg_a"), failed(session.ReasonAborted, "stop")},
			cli.ExitInterrupted,
			"",
		},
		"withdrawn": {
			[]session.EventData{&session.InputWithdrawn{MessageID: "msg_mine"}},
			cli.ExitInterrupted,
			"",
		},
		"others' work is not ours": {
			[]session.EventData{
				begin("msg_0"),
				failed(session.ReasonAuth, "no key"),
				mine(),
				begin("msg_a"),
				text("msg_a", "hi"),
				end("stop"),
			},
			cli.ExitOK,
			"hi",
		},
		"until the next queued one": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				text("msg_a", "hi"),
				end("stop"),
				&session.Prompted{MessageID: "msg_other", Delivery: session.Queue},
				begin("msg_b"),
				text("msg_b", "else"),
				failed(session.ReasonAuth, "x"),
			},
			cli.ExitOK,
			"hi",
		},
		"blocked, then sent": {
			[]session.EventData{
				begin(
					"msg_x",
				), failed(session.ReasonContext, "AGENTS.md"), mine(), begin("msg_a"), text("msg_a", "hi"), end("stop"),
			},
			cli.ExitOK,
			"hi",
		},
		"blocked": {
			[]session.EventData{begin("msg_x"), failed(session.ReasonContext, "AGENTS.md: permission denied")},
			cli.ExitUsage,
			"",
		},
		"a steer joins": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				end("tool-calls"),
				&session.Prompted{MessageID: "msg_other", Delivery: session.Steer},
				begin("msg_b"),
				text("msg_b", "both"),
				end("stop"),
			},
			cli.ExitOK,
			"both",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := follow.NewProgress("msg_mine", 0)
			for _, e := range story(tt.events...) {
				s.Apply(e)
			}
			code, why := exitStatus(s)
			if code != tt.code || (code == cli.ExitOK) != (why == "") {
				t.Errorf("outcome %v (%q), want %v", code, why, tt.code)
			}
			var said string
			if len(s.Said) > 0 {
				said = s.Said[0]
				for _, more := range s.Said[1:] {
					said += "\n" + more
				}
			}
			if said != tt.text {
				t.Errorf("text %q, want %q", said, tt.text)
			}
		})
	}
}

func TestProgressCountsOnce(t *testing.T) {
	used := func(cents session.USD) *session.RequestCost {
		return &session.RequestCost{Cost: cents * session.Dollar / 100, Tokens: session.Tokens{Input: 3, Output: 1}}
	}
	events := story(
		&session.CompactionEnded{Request: used(9)}, mine(), &session.CompactionFailed{Request: used(1)},
		&session.CompactionEnded{Request: used(2)}, begin("msg_a"), text("msg_a", "hi"), end("stop"),
	)
	s := follow.NewProgress("msg_mine", 0)
	for _, e := range slices.Concat(events, events) { // a reconnected stream may repeat itself
		s.Apply(e)
	}
	if want := (session.Tokens{Input: 16, Output: 7}); s.Tokens != want || s.Cost != session.Dollar*4/100 ||
		s.Turns != 1 {
		t.Errorf("tokens %+v, cost %s, turns %d", s.Tokens, s.Cost, s.Turns)
	}
}

func TestProgressDenials(t *testing.T) {
	s := follow.NewProgress("msg_mine", 0)
	for _, e := range story(
		mine(), begin("msg_a"),
		called("prt_1", "bash", `{}`), asked("prt_1"), replied(session.ReplyReject, "policy"),
		&session.ToolFailed{PartID: "prt_1", Error: *session.Fail(session.ReasonDenied, "no")},
		called("prt_2", "edit", `{}`), &session.ToolFailed{
			PartID: "prt_2",
			Error:  *session.Fail(session.ReasonDenied, "a rule"),
		},
		&session.PermissionAsked{Ask: session.PendingAsk{ID: "per_2", Action: "budget"}},
		&session.PermissionReplied{AskID: "per_2", Reply: session.ReplyReject, By: "policy"},
	) {
		s.Apply(e)
	}
	want := []follow.Denial{
		{Action: "bash", Resources: []string{"ls"}, Tool: "bash", By: "policy"},
		{Action: "edit", Tool: "edit", By: "rule", Message: "a rule"},
	}
	if d := cmp.Diff(want, s.Denials); d != "" {
		t.Error(d)
	}
}

// TestProgressComplete: an idle session may have been left by its owner; only the log says whether the work is done.
func TestProgressComplete(t *testing.T) {
	prompted := &session.Prompted{MessageID: "msg_other"}
	tests := map[string]struct {
		events []session.EventData
		want   bool
	}{
		"not promoted": {nil, false},
		"others stopped": {
			[]session.EventData{prompted, begin("msg_a"), failed(session.ReasonAborted, "stop")},
			true,
		},
		"others cut off": {
			[]session.EventData{prompted, begin("msg_a"), failed(session.ReasonInterrupted, "cairn stopped")},
			false,
		},
		"blocked":   {[]session.EventData{begin("msg_a"), failed(session.ReasonContext, "AGENTS.md")}, true},
		"promoted":  {[]session.EventData{mine()}, false},
		"in a turn": {[]session.EventData{mine(), begin("msg_a")}, false},
		"answered":  {[]session.EventData{mine(), begin("msg_a"), end("stop")}, true},
		"calls settled": {
			[]session.EventData{mine(), begin("msg_a"), called("prt_1", "read", `{}`), end("tool-calls")},
			false,
		},
		"hosted calls": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				&session.ToolCalled{Provider: session.CallProvider{Executed: true}},
				end("stop"),
			},
			true,
		},
		"allowance used up": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				called("prt_1", "read", `{}`),
				&session.ToolFailed{Error: *session.Fail(session.ReasonSteps, "no")},
				end("stop"),
			},
			true,
		},
		"waits to retry": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonAPI, "busy"), &session.Retried{}},
			false,
		},
		"failed": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonAPI, "busy")},
			true,
		},
		"cut off": {
			[]session.EventData{mine(), begin("msg_a"), failed(session.ReasonInterrupted, "cairn stopped")},
			false,
		},
		"given up": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				failed(session.ReasonInterrupted, "cairn stopped"),
				&session.Interrupted{Error: *session.Fail(session.ReasonAborted, "too often")},
			},
			true,
		},
		"steered before it is done": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				end("stop"),
				&session.Prompted{MessageID: "msg_other", Delivery: session.Steer},
			},
			false,
		},
		"the next one begins": {
			[]session.EventData{
				mine(),
				begin("msg_a"),
				end("stop"),
				&session.Prompted{MessageID: "msg_other", Delivery: session.Queue},
			},
			true,
		},
		"withdrawn": {[]session.EventData{&session.InputWithdrawn{MessageID: "msg_mine"}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := follow.NewProgress("msg_mine", 0)
			for _, e := range story(tt.events...) {
				s.Apply(e)
			}
			if s.IsComplete() != tt.want {
				t.Errorf("complete is %v", s.IsComplete())
			}
		})
	}
}

// An event of every kind can be folded, even one without any of its fields.
func TestProgressOfEveryEvent(t *testing.T) {
	for _, k := range session.ListKinds() {
		d, err := session.DecodeData(k, 1, jsontext.Value(`{}`))
		if err != nil {
			t.Fatalf("decode an empty %s: %v", k, err)
		}
		follow.NewProgress("msg_x", -1).Apply(session.Event{Data: d})
	}
}
