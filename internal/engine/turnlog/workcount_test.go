package turnlog

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// The class of a stored failure is a field; events from before it have it as the end of their text.
func TestStoredClass(t *testing.T) {
	for _, c := range []struct {
		name string
		e    session.RetryError
		want int // empty or malformed answers
	}{
		{"stored", NewRetryError(&llm.Error{Class: llm.Empty, Message: "nothing"}), 1},
		{"stored with another text", session.RetryError{Message: "the model said nothing", Class: "empty"}, 1},
		{"another class", session.RetryError{Message: "no answer (empty)", Class: "overloaded"}, 0},
		{"from before the field", session.RetryError{Message: (&llm.Error{Class: llm.Empty, Message: "nothing"}).Error()}, 1},
		{
			"from before the field, with a status",
			session.RetryError{Message: (&llm.Error{Class: llm.Malformed, Status: 200}).Error(), StatusCode: 200},
			1,
		},
		{"a restart", session.RetryError{Message: "cairn restarted"}, 0},
	} {
		var w WorkCount
		w.AddEvent(&session.Retried{Error: c.e}, true)
		if got, _ := w.Open(); got.empty != c.want || got.failures != 1 {
			t.Errorf("%s: %d of %d failures are empty or malformed, want %d of 1", c.name, got.empty, got.failures, c.want)
		}
	}
}

// Work counts steps since its newest input; a switch of the model and a completed step start the attempts anew, a prompt
// keeps them unless the work failed.
func TestWorkCount(t *testing.T) {
	failed := func() session.EventData {
		return &session.Retried{Error: session.RetryError{Class: "overloaded"}, Next: 7}
	}
	for _, c := range []struct {
		name     string
		events   []session.EventData
		steps    int
		failures int
		next     int64
	}{
		{"failures", []session.EventData{failed(), failed()}, 0, 2, 7},
		{"a step", []session.EventData{failed(), &session.StepEnded{}}, 1, 0, 0},
		{"another model", []session.EventData{failed(), &session.ModelSwitched{}}, 0, 0, 0},
		{"a prompt", []session.EventData{failed(), &session.Prompted{}}, 0, 1, 7},
		{"a prompt after the end", []session.EventData{failed(), &session.Interrupted{}, &session.Prompted{}}, 0, 0, 0},
		{"a failed turn", []session.EventData{failed(), &session.StepFailed{}}, 0, 0, 0},
		{
			"an interrupted turn",
			[]session.EventData{failed(), &session.StepFailed{Error: session.Failure{Reason: session.ReasonInterrupted}}},
			0, 1, 7,
		},
		{
			"a summary's attempt",
			[]session.EventData{
				&session.Retried{Error: session.RetryError{Metadata: map[string]string{"request": "summary"}}},
			},
			0, 0, 0,
		},
	} {
		var w WorkCount
		for _, e := range c.events {
			w.AddEvent(e, true)
		}
		state, next := w.Open()
		if w.Steps != c.steps || state.failures != c.failures || next != c.next {
			t.Errorf("%s: %d steps, %d failures, next %d; want %d, %d, %d",
				c.name, w.Steps, state.failures, next, c.steps, c.failures, c.next)
		}
	}
}

// Next ends the attempts at each limit.
func TestNext(t *testing.T) {
	limits := RetryLimits{Attempts: 5, EmptyRepeats: 1, Time: time.Minute}
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	overloaded := &llm.Error{Class: llm.Overloaded}
	for _, c := range []struct {
		name string
		have RetryState
		err  *llm.Error
		now  time.Time
		want bool
	}{
		{"the first", RetryState{}, overloaded, at(0), true},
		{"the last", RetryState{failures: 4, first: at(0)}, overloaded, at(1), false},
		{"too late", RetryState{failures: 1, first: at(0)}, overloaded, at(59), false},
		{"a long wait of the provider", RetryState{}, &llm.Error{Class: llm.RateLimit, RetryAfter: time.Hour}, at(0), false},
		{"empty", RetryState{}, &llm.Error{Class: llm.Empty}, at(0), true},
		{"empty again", RetryState{empty: 1, failures: 1, first: at(0)}, &llm.Error{Class: llm.Empty}, at(1), false},
		{"no retry can help", RetryState{}, &llm.Error{Class: llm.Auth}, at(0), false},
		{"once", RetryState{}, &llm.Error{Class: llm.Incomplete, Once: true}, at(0), true},
		{
			"once, again",
			RetryState{once: true, failures: 1, first: at(0)},
			&llm.Error{Class: llm.Incomplete, Once: true}, at(1), false,
		},
	} {
		if _, got := c.have.Next(c.err, limits, c.now); got != c.want {
			t.Errorf("%s: another attempt %v, want %v", c.name, got, c.want)
		}
	}
}

// Backoff doubles from two seconds up to its limit.
func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: 2 * time.Second, 2: 4 * time.Second, 4: 16 * time.Second, 5: maxWait, 100: maxWait,
	} {
		if got := Backoff(n); got != want {
			t.Errorf("after %d failures %v, want %v", n, got, want)
		}
	}
}
