package mcp

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// How the work of an idle session ended, by its newest messages.
func TestDescribeEnd(t *testing.T) {
	t.Parallel()
	turn := func(change func(a *session.Assistant)) *session.Assistant {
		a := &session.Assistant{Content: []session.Content{&session.Text{Text: "Said."}}, Finish: "stop"}
		a.Time.Completed = 1
		change(a)
		return a
	}
	fail := func(r session.Reason) *session.Assistant {
		return turn(func(a *session.Assistant) { a.Error = session.Fail(r, "why") })
	}
	done := turn(func(*session.Assistant) {})
	type messages = []session.Message
	for name, c := range map[string]struct {
		newest messages
		waits  bool
		state  string
		error  string
	}{
		"nothing yet":             {state: stateDone},
		"an answer":               {newest: messages{done}, state: stateDone},
		"a failure":               {newest: messages{fail(session.ReasonAPI)}, state: stateFailed, error: "why"},
		"a denied permission":     {newest: messages{fail(session.ReasonDenied)}, state: stateFailed, error: "why"},
		"an interrupt":            {newest: messages{fail(session.ReasonAborted)}, state: stateInterrupted, error: "why"},
		"the end of its process":  {newest: messages{fail(session.ReasonInterrupted)}, state: stateInterrupted, error: "why"},
		"a prompt without a turn": {newest: messages{done, &session.User{}}, state: stateInterrupted, error: unansweredText},
		"a prompt after a failure": {
			newest: messages{fail(session.ReasonAPI), &session.User{}}, state: stateInterrupted, error: unansweredText,
		},
		"a prompt that waits": {newest: messages{done}, waits: true, state: stateInterrupted, error: unansweredText},
		"a filtered answer": {
			newest: messages{turn(func(a *session.Assistant) { a.Finish = "content-filter" })},
			state:  stateFailed, error: "content filter",
		},
		"a paused turn": {
			newest: messages{turn(func(a *session.Assistant) { a.Finish = session.FinishPaused })},
			state:  stateInterrupted, error: unansweredText,
		},
	} {
		got := describeEnd(c.newest, c.waits)
		hasText := got.Text == "Said." || len(c.newest) == 0
		if got.State != c.state || !hasText || !matches(got.Error, c.error) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A prompt that never began, or whose work stopped between two turns, is not done.
func TestSummarizePrompt(t *testing.T) {
	t.Parallel()
	const prompt = session.MessageID("msg_1")
	promoted := &session.Prompted{MessageID: prompt, Delivery: session.Queue}
	stopped := &session.Interrupted{Error: *session.Fail(session.ReasonAborted, "the user stopped it")}
	unreadable := &session.StepFailed{Error: *session.Fail(session.ReasonContext, "no such file")}
	type events = []session.EventData
	for name, c := range map[string]struct {
		events       events
		state, error string
	}{
		"withdrawn": {events{&session.InputWithdrawn{MessageID: prompt}}, stateInterrupted, "withdrawn"},
		"stopped before it began": {
			events{stopped}, stateInterrupted, unansweredText,
		},
		"stopped before its turn": {
			events{promoted, stopped},
			stateInterrupted, "the user stopped it",
		},
		"no turn": {events{promoted}, stateInterrupted, unansweredText},
		"a context that cannot be read": {
			events{unreadable}, stateFailed, "no such file",
		},
		"answered": {
			events{promoted, &session.StepStarted{}, &session.StepEnded{Finish: "stop"}}, stateDone, "",
		},
	} {
		p := follow.NewProgress(prompt, -1)
		for i, d := range c.events {
			p.Apply(session.Event{Seq: int64(i), Data: d})
		}
		if got := summarize("ses_1", p); got.State != c.state || !matches(got.Error, c.error) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// matches reports whether an error has the text; "" is no error.
func matches(got, text string) bool {
	return strings.Contains(got, text) && (got == "") == (text == "")
}
