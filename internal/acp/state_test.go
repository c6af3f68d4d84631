package acp

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestWorkState(t *testing.T) {
	ask := func(id session.AskID, of session.ID) session.PendingAsk {
		return session.PendingAsk{ID: id, SessionID: of}
	}
	background := &session.JobStarted{Job: session.Job{ID: "j", Task: &session.TaskJob{SessionID: "ses_back"}}}
	for _, tt := range []struct {
		name string
		do   func(w *workState)
		want stateName
	}{
		{"nothing", func(*workState) {}, stateIdle},
		{"a prompt", func(w *workState) { w.apply(&session.Prompted{}) }, stateRunning},
		{"a turn without a prompt", func(w *workState) { w.apply(&session.StepStarted{}) }, stateRunning},
		{"a compaction", func(w *workState) { w.apply(&session.CompactionStarted{}) }, stateRunning},
		{"an ask of the work", func(w *workState) { w.apply(&session.Prompted{}); w.noteAsk(ask("a", "ses_own")) }, stateAsks},
		{"an ask without work", func(w *workState) { w.noteAsk(ask("a", "ses_own")) }, stateIdle},
		{"one of two asks is answered", func(w *workState) {
			w.apply(&session.Prompted{})
			w.noteAsk(ask("a", "ses_own"))
			w.noteAsk(ask("b", "ses_below"))
			delete(w.asks, "a")
		}, stateAsks},
		{"an ask in the background", func(w *workState) {
			w.apply(&session.Prompted{})
			w.noteTask("ses_own", background)
			w.noteAsk(ask("a", "ses_back"))
		}, stateRunning},
		{"an ask below the background", func(w *workState) {
			w.apply(&session.Prompted{})
			w.noteTask("ses_own", background)
			w.noteTask("ses_back", &session.ToolCalled{Tool: "task", Input: []byte(`{"task_id":"ses_deep"}`)})
			w.noteAsk(ask("a", "ses_deep"))
		}, stateRunning},
	} {
		w := newWorkState()
		tt.do(&w)
		if got := w.name(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	failure := func(r session.Reason) session.EventData {
		return &session.StepFailed{Error: session.Failure{Reason: r, Message: "why"}}
	}
	for _, tt := range []struct {
		name   string
		events []session.EventData
		stop   stopReason
		code   int
	}{
		{"an end", []session.EventData{&session.StepEnded{Finish: "stop"}}, stopEnd, 0},
		{"the limit of tokens", []session.EventData{&session.StepEnded{Finish: "length"}}, stopLength, 0},
		{"a filter", []session.EventData{&session.StepEnded{Finish: "content-filter"}}, stopRefused, 0},
		{"a person", []session.EventData{failure(session.ReasonAborted)}, stopCancelled, 0},
		{"a person before a turn", []session.EventData{&session.Interrupted{Error: session.Failure{Reason: session.ReasonAborted}}}, stopCancelled, 0},
		{"the limit of turns", []session.EventData{failure(session.ReasonSteps)}, stopTurns, 0},
		{"the budget", []session.EventData{failure(session.ReasonBudget)}, stopTurns, 0},
		{"a permission", []session.EventData{failure(session.ReasonDenied)}, stopEnd, 0},
		{"no credentials", []session.EventData{failure(session.ReasonAuth)}, "", codeAuthRequired},
		{"a model without a key", []session.EventData{&session.StepFailed{Error: session.Failure{
			Reason: session.ReasonModel, Message: `provider "x" needs a key: set X_KEY or log in (cairn auth login x)`,
		}}}, "", codeAuthRequired},
		{"an unknown model", []session.EventData{failure(session.ReasonModel)}, "", codeInternal},
		{"another failure", []session.EventData{failure("provider")}, "", codeInternal},
		{"a failure and another turn", []session.EventData{failure("provider"), &session.StepStarted{}, &session.StepEnded{Finish: "stop"}}, stopEnd, 0},
	} {
		w := newWorkState()
		w.apply(&session.Prompted{})
		for _, e := range tt.events {
			w.apply(e)
		}
		r := w.outcome.result()
		code := 0
		if r.err != nil {
			code = describeError(r.err).Code
		}
		if r.stop != tt.stop || code != tt.code {
			t.Errorf("%s: %q, %d; want %q, %d", tt.name, r.stop, code, tt.stop, tt.code)
		}
	}
	w := newWorkState() // new work forgets how the earlier one ended
	w.apply(failure(session.ReasonAborted))
	w.apply(&session.Prompted{})
	if r := w.outcome.result(); r.stop != stopEnd {
		t.Errorf("after new work: %q", r.stop)
	}
}
