package session

import "testing"

// TestNext runs short logs through all four users of the decision: recovery (history), an interrupt (history and
// inbox), the mark of unfinished sessions (newest event), and a client (all events).
func TestNext(t *testing.T) {
	prompted := func(id MessageID) EventData { return &Prompted{Fact: at(1), MessageID: id} }
	admitted := func(ms int64, hold bool) EventData {
		return &PromptAdmitted{Fact: at(ms), MessageID: "msg_2", Hold: hold}
	}
	started := &StepStarted{TurnFact: TurnFact{Fact: at(2), AssistantMessageID: "msg_a"}}
	ended := func(finish string) *StepEnded {
		return &StepEnded{TurnFact: TurnFact{Fact: at(9), AssistantMessageID: "msg_a"}, Finish: finish}
	}
	failed := func(r Reason) EventData {
		return &StepFailed{TurnFact: TurnFact{Fact: at(9), AssistantMessageID: "msg_a"}, Error: *Fail(r, "x")}
	}
	stopped := func(r Reason) EventData { return &Interrupted{Fact: at(9), Error: *Fail(r, "x")} }
	call := func(part PartID, hosted bool) []EventData {
		return []EventData{
			&ToolInputStarted{TurnFact: TurnFact{Fact: at(3), AssistantMessageID: "msg_a"}, PartID: part},
			&ToolCalled{
				TurnFact: TurnFact{Fact: at(4), AssistantMessageID: "msg_a"},
				PartID:   part,
				Provider: CallProvider{Executed: hosted},
			},
		}
	}
	refused := func(part PartID, r Reason) EventData {
		return &ToolFailed{
			TurnFact: TurnFact{Fact: at(5), AssistantMessageID: "msg_a"}, PartID: part, Error: *Fail(r, "x"),
		}
	}
	good := &ToolSuccess{TurnFact: TurnFact{Fact: at(5), AssistantMessageID: "msg_a"}, PartID: "prt_1"}
	formed := ended("tool-calls")
	formed.Structured = emptyObject
	log := func(parts ...any) (all []EventData) {
		for _, p := range parts {
			switch p := p.(type) {
			case EventData:
				all = append(all, p)
			case []EventData:
				all = append(all, p...)
			}
		}
		return all
	}
	turn := log(prompted("msg_1"), started)
	for _, c := range []struct {
		name    string
		log     []EventData
		history Next
		client  Next
		mark    Mark // what the newest event does to it
		resumes bool // after an interrupt
	}{
		{"empty", nil, NextNothing, NextNothing, MarkKept, false},
		{"admitted", log(admitted(1, false)), NextNothing, NextNothing, MarkSet, true},
		{"admitted, held", log(admitted(1, true)), NextNothing, NextNothing, MarkKept, false},
		{"withdrawn", log(&InputWithdrawn{}), NextNothing, NextNothing, MarkUnlessTurn, false},
		{"promoted", log(prompted("msg_1")), NextAnswer, NextAnswer, MarkSet, true},
		{"synthetic text", log(&SyntheticAdded{}), NextAnswer, NextAnswer, MarkKept, true},
		{"promoted, another agent", log(prompted("msg_1"), &AgentSwitched{}), NextAnswer, NextAnswer, MarkKept, true},
		{"command", log(&ShellStarted{}), NextNothing, NextNothing, MarkSet, false},
		{"command ended", log(&ShellStarted{}, &ShellEnded{}), NextNothing, NextNothing, MarkUnlessTurn, false},
		{"stopped, then a command", log(prompted("msg_1"), &ShellStarted{}), NextNothing, NextAnswer, MarkSet, false},
		{"job", log(&JobStarted{}), NextNothing, NextNothing, MarkSet, false},
		{"job ended", log(&JobEnded{}), NextNothing, NextNothing, MarkUnlessTurn, false},

		{"turn open", turn, NextRetry, NextRetry, MarkSet, true},
		{"call runs", log(turn, call("prt_1", false)), NextRetry, NextRetry, MarkKept, true},
		{"answered", log(turn, ended("stop")), NextNothing, NextNothing, MarkUnlessPrompt, false},
		{
			"answered, another waits",
			log(turn, ended("stop"), admitted(1, false)),
			NextNothing, NextNothing, MarkSet, true,
		},
		{"answered, then a steer", log(turn, ended("stop"), prompted("msg_2")), NextAnswer, NextAnswer, MarkSet, true},
		{"results", log(turn, call("prt_1", false), good, ended("stop")), NextProceed, NextProceed, MarkKept, true},
		{
			"call failed",
			log(turn, call("prt_1", false), refused("prt_1", ReasonTool), ended("stop")),
			NextProceed, NextProceed, MarkKept, true,
		},
		{
			"last step",
			log(turn, call("prt_1", false), refused("prt_1", ReasonSteps), ended("stop")),
			NextNothing, NextNothing, MarkUnlessPrompt, false,
		},
		{
			"hosted call",
			log(turn, call("prt_1", true), ended("stop")),
			NextNothing, NextNothing, MarkUnlessPrompt, false,
		},
		{
			"hosted and local call",
			log(turn, call("prt_1", true), call("prt_2", false), ended("stop")),
			NextProceed, NextProceed, MarkKept, true,
		},
		{
			"calls of the turn before",
			log(
				turn, call("prt_1", false), good, ended("stop"),
				&StepStarted{TurnFact: TurnFact{Fact: at(9), AssistantMessageID: "msg_b"}},
				&StepEnded{TurnFact: TurnFact{Fact: at(9), AssistantMessageID: "msg_b"}},
			),
			NextNothing, NextNothing, MarkUnlessPrompt, false,
		},
		{"paused", log(turn, ended(FinishPaused)), NextProceed, NextProceed, MarkKept, true},
		{"wrong form", log(turn, ended(FinishUnformed)), NextProceed, NextProceed, MarkKept, true},
		{"wrong form, cut", log(turn, ended(FinishCut)), NextProceed, NextProceed, MarkKept, true},
		{
			"structured",
			log(turn, call("prt_1", false), good, formed),
			NextNothing, NextNothing, MarkUnlessPrompt, false,
		},

		{"failed", log(turn, failed(ReasonAPI)), NextNothing, NextNothing, MarkUnlessPrompt, false},
		{
			"failed, to be tried again",
			log(turn, failed(ReasonAPI), &Retried{}),
			NextNothing, NextRetry, MarkKept, false,
		},
		{
			"cut off by the end of the process",
			log(turn, failed(ReasonInterrupted)),
			NextRetry, NextRetry, MarkKept, true,
		},
		{"stopped by the user", log(turn, failed(ReasonAborted)), NextStopped, NextStopped, MarkUnlessJob, false},
		{
			"stopped, an older prompt waits",
			log(admitted(9, false), turn, failed(ReasonAborted)),
			NextStopped, NextStopped, MarkUnlessJob, false,
		},
		{
			"stopped, then prompted",
			log(turn, failed(ReasonAborted), admitted(10, false)),
			NextStopped, NextStopped, MarkSet, true,
		},
		{"denied", log(turn, failed(ReasonDenied)), NextStopped, NextStopped, MarkUnlessJob, false},
		{
			"denied, an older prompt waits",
			log(admitted(9, false), turn, failed(ReasonDenied)),
			NextStopped, NextStopped, MarkUnlessJob, true,
		},
		{"over budget", log(turn, failed(ReasonBudget)), NextStopped, NextStopped, MarkUnlessJob, false},

		{
			"stopped between turns",
			log(turn, call("prt_1", false), good, ended("stop"), stopped(ReasonAborted)),
			NextProceed, NextStopped, MarkUnlessJob, true,
		},
		{
			"over budget between turns",
			log(prompted("msg_1"), stopped(ReasonBudget)),
			NextAnswer, NextStopped, MarkUnlessJob, true,
		},
		{
			"blocked between turns",
			log(prompted("msg_1"), stopped(ReasonUnavailable)),
			NextAnswer, NextNothing, MarkUnlessPrompt, true,
		},
		{
			"process ended between turns",
			log(prompted("msg_1"), stopped(ReasonInterrupted)),
			NextAnswer, NextRetry, MarkKept, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			history, pending, client, mark := replay(c.log)
			if got := NextOf(history); got != c.history {
				t.Errorf("the history calls for %d, want %d", got, c.history)
			}
			if got := client.Next(); got != c.client {
				t.Errorf("the events call for %d, want %d", got, c.client)
			}
			if mark != c.mark {
				t.Errorf("the mark changes by %d, want %d", mark, c.mark)
			}
			if got := ResumesByItself(history, pending); got != c.resumes {
				t.Errorf("resumes by itself: %v, want %v", got, c.resumes)
			}
		})
	}
}

// replay folds the log for each user: the messages, the pending prompts, what a client follows, and what the newest
// event does to the mark.
func replay(log []EventData) (history []Message, pending []*Input, client NextWork, mark Mark) {
	for i, d := range log {
		var turn *Assistant
		if m := Begin(d, int64(i)); m != nil {
			history = append(history, m)
		} else if n := len(history); n > 0 {
			turn, _ = history[n-1].(*Assistant)
		}
		if turn != nil && !turn.Apply(d) {
			turn = nil
		}
		if e, ok := d.(*PromptAdmitted); ok {
			pending = append(pending, &Input{ID: e.MessageID, TimeCreated: e.Timestamp, Hold: e.Hold})
		}
		client.Apply(d)
		mark = MarkAfter(d, turn)
	}
	return history, pending, client, mark
}
