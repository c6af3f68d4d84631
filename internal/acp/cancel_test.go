package acp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// The cancellation of one request of two stops its prompt only.
func TestCancelRequest(t *testing.T) {
	w := newWorld(t, held("first"))
	e := w.open(1)
	id := e.session()
	first := e.send("session/prompt", prompt(id, "first"))
	e.awaitUpdate(id, "One")
	second := e.send("session/prompt", prompt(id, "second"))
	third := e.send("session/prompt", prompt(id, "third"))
	awaitInbox(t, w, id, 2)
	e.tell("$/cancel_request", fmt.Sprintf(`{"requestId":%d}`, second))
	if m := e.answer(second); m.Error == nil || m.Error.Code != codeCancelled {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	close(w.gates["g1"])
	for _, id := range []int{first, third} {
		if m := e.answer(id); !strings.Contains(string(m.Result), "end_turn") {
			t.Errorf("%s %v", m.Result, m.Error)
		}
	}
	if got := w.prompts(id); !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("prompts %q", got)
	}
}

// A prompt that was cancelled is over when its session is idle: its process may have ended before it could be stopped, and the
// next one knows nothing of the cancellation.
func TestCancelledPromptIsNotResumed(t *testing.T) {
	p := &promptWork{cancelled: make(chan struct{}), isExpected: true}
	p.Progress = follow.NewProgress("msg_1", 0)
	close(p.cancelled)
	isOver, err := p.apply(nil, follow.Update{Idle: true})
	if r := p.result(err); !isOver || r.stop != stopCancelled || r.err != nil {
		t.Errorf("over: %v, %+v", isOver, r)
	}
}

// awaitInbox waits until so many prompts wait in the session.
func awaitInbox(t *testing.T, w *world, id string, n int) {
	t.Helper()
	for list := []*session.Input(nil); len(list) < n; {
		var err error
		if list, err = w.api.Inbox().List(t.Context(), session.ID(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// The cancellation of the request at work leaves the prompts that wait: they are worked on.
func TestCancelRequestAtWork(t *testing.T) {
	w := newWorld(t, held("first"))
	e := w.open(1)
	id := e.session()
	first := e.send("session/prompt", prompt(id, "first"))
	e.awaitUpdate(id, "One")
	second := e.send("session/prompt", prompt(id, "second"))
	awaitInbox(t, w, id, 1)
	e.tell("$/cancel_request", fmt.Sprintf(`{"requestId":%d}`, first))
	if m := e.answer(first); m.Error == nil || m.Error.Code != codeCancelled {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	if m := e.answer(second); !strings.Contains(string(m.Result), "end_turn") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	if got := w.prompts(id); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("prompts %q", got)
	}
}

// A cancel ends all prompts that were sent before it, and none that is sent later.
func TestCancel(t *testing.T) {
	w := newWorld(t, held("first"))
	e := w.open(1)
	id := e.session()
	first := e.send("session/prompt", prompt(id, "first"))
	e.awaitUpdate(id, "One")
	second := e.send("session/prompt", prompt(id, "second"))
	e.tell("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, id))
	third := e.send("session/prompt", prompt(id, "third"))
	for id, want := range map[int]string{first: "cancelled", second: "cancelled", third: "end_turn"} {
		if m := e.answer(id); !strings.Contains(string(m.Result), want) {
			t.Errorf("%d: %s %v, want %s", id, m.Result, m.Error, want)
		}
	}
	// The second is withdrawn, or stopped if the end of the first had promoted it before.
	got := slices.DeleteFunc(w.prompts(id), func(text string) bool { return text == "second" })
	if !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("prompts %q", got)
	}
}

// A close ends the work before its answer.
func TestCloseAtWork(t *testing.T) {
	w := newWorld(t, held("go"))
	e := w.open(1)
	id := e.session()
	work := e.send("session/prompt", prompt(id, "go"))
	e.awaitUpdate(id, "One")
	closed := e.send("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
	if m := e.answer(work); !strings.Contains(string(m.Result), "cancelled") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	mark := len(e.said)
	e.answer(closed)
	e.ask("session/list", `{}`)
	if got := e.updates(id, mark); len(got) > 0 {
		t.Errorf("after the end of the work: %q", got)
	}
	active, err := w.api.Active(t.Context())
	if _, isAtWork := active[session.ID(id)]; isAtWork || err != nil {
		t.Error(active, err)
	}
	e.refuse(codeNotFound, "session/prompt", prompt(id, "x"))
}

// A prompt whose answer gets lost is stopped, because the client gets an error for it.
func TestPromptWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, held("lost"))
	e := w.open(1)
	id := e.session()
	w.loseAnswer("POST /api/session/" + id + "/prompt")
	e.refuse(codeInternal, "session/prompt", prompt(id, "lost"))
	ctx, cancel := context.WithTimeout(t.Context(), awaitTimeout)
	defer cancel()
	if err := w.api.Wait(ctx, session.ID(id)); err != nil {
		t.Errorf("the prompt is still worked on: %v", err)
	}
	e.ask("session/prompt", prompt(id, "next"))
}

// A request that creates a session leaves none behind when it is cancelled, also while the server creates it.
func TestCancelCreation(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	for method, path := range map[string]string{"session/new": "/api/session", "session/fork": "/api/session/" + id + "/fork"} {
		reached, cancelled := make(chan struct{}), make(chan struct{})
		w.hook(func(r *http.Request) error {
			if r.Method == http.MethodPost && r.URL.Path == path {
				w.hook(nil)
				close(reached)
				<-cancelled
			}
			return nil
		})
		request := e.send(method, w.params(id))
		<-reached
		e.tell("$/cancel_request", fmt.Sprintf(`{"requestId":%d}`, request))
		e.ask("session/list", `{}`) // the cancellation was taken
		close(cancelled)
		if m := e.answer(request); m.Error == nil || m.Error.Code != codeCancelled {
			t.Errorf("%s: %s, %v", method, m.Result, m.Error)
		}
		if page, err := w.api.Sessions(t.Context(), api.SessionQuery{}); err != nil || len(page.Data) != 1 {
			t.Errorf("%s: %d sessions, %v", method, len(page.Data), err)
		}
	}
}
