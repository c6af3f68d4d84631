package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A request without an id is ignored: it neither begins anything nor holds up what follows.
func TestRequestsNeedAnID(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	e.tell("session/prompt", prompt(id, "unasked"))
	e.tell("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, id))
	e.tell("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","value":"plan"}`, id))
	e.tell("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
	e.ask("session/prompt", prompt(id, "asked"))
	if got := w.prompts(id); !slices.Equal(got, []string{"asked"}) {
		t.Errorf("prompts %q", got)
	}
}

// An initialize without an id does not initialize the connection.
func TestInitializeNeedsAnID(t *testing.T) {
	w := newWorld(t)
	e := w.openWithout()
	e.refuse(codeInvalidRequest, "session/list", `{}`)
	e.tell("initialize", `{"protocolVersion":2}`)
	if r := e.ask("initialize", `{"protocolVersion":1}`); !strings.Contains(r, `"protocolVersion":1`) {
		t.Error(r)
	}
	e.refuse(codeInvalidRequest, "initialize", `{"protocolVersion":1}`)
}

// A session that is loaded while it works is sent once: what the transcript has is not sent again as it is followed.
func TestLoadAtWork(t *testing.T) {
	w := newWorld(t, script.Turn{Match: "go", Steps: []script.Step{
		{Reasoning: script.Chunks{"Hm."}},
		{Text: script.Chunks{"One"}, Open: true},
		{Gate: "g1"},
		{Text: script.Chunks{" two."}},
		{Call: &script.Call{ID: "c", Name: "read", Arguments: []byte(`{"filePath":"notes.txt"}`)}},
	}}, say("go", "Read."))
	e := w.open(1)
	id := e.session()
	work := e.send("session/prompt", prompt(id, "go"))
	e.awaitUpdate(id, "One")
	// Another editor loads it, and the work goes on to its end between the head and the transcript.
	w.hook(func(r *http.Request) error {
		if r.URL.Query().Get("order") == "asc" {
			w.hook(nil)
			close(w.gates["g1"])
			if err := w.api.Wait(t.Context(), session.ID(id)); err != nil {
				t.Error(err)
			}
			if _, err := w.api.Prompt(t.Context(), session.ID(id), api.PromptRequest{Prompt: &session.Prompt{Text: "more"}}); err != nil {
				t.Error(err)
			}
			return w.api.Wait(t.Context(), session.ID(id))
		}
		return nil
	})
	second := w.open(1)
	second.ask("session/load", w.params(id))
	second.ask("session/prompt", prompt(id, "last"))
	e.answer(work)
	var got []string
	for _, u := range second.updates(id, 0) {
		if kind, _, _ := strings.Cut(u, " "); slices.Contains([]string{"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call"}, kind) {
			got = append(got, u)
		}
	}
	call := slices.IndexFunc(got, func(u string) bool { return strings.HasPrefix(u, "tool_call") })
	if call >= 0 {
		got[call] = "tool_call"
	}
	want := []string{
		"user_message_chunk go", "agent_thought_chunk Hm.", "agent_message_chunk One two.", "tool_call", "agent_message_chunk Read.",
		"user_message_chunk more", "agent_message_chunk Done.", "agent_message_chunk Done.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A session that is loaded in the middle of a text gets the rest of it, and the end of a call that ran.
func TestLoadInTheMiddleOfAText(t *testing.T) {
	w := newWorld(t, held("go"))
	e := w.open(2)
	id := e.session()
	e.ask("session/prompt", prompt(id, "go"))
	e.awaitUpdate(id, "One")
	second := w.open(2)
	second.ask("session/resume", strings.TrimSuffix(w.params(id), "}")+`,"replayFrom":{"type":"start"}}`)
	close(w.gates["g1"])
	second.awaitUpdate(id, `"idle"`)
	text := ""
	for _, u := range second.updates(id, 0) {
		if rest, ok := strings.CutPrefix(u, "agent_message_chunk "); ok {
			text += rest
		}
	}
	if text != "One two" {
		t.Errorf("%q of %q", text, second.updates(id, 0))
	}
}

// The plan and the title are sent also of a session whose newest messages are hidden by an undo.
func TestLoadAfterAnUndo(t *testing.T) {
	w := newWorld(t, script.Turn{Match: "plan", Steps: []script.Step{{Call: &script.Call{
		Name: "todowrite", Arguments: []byte(`{"todos":[{"content":"x","status":"pending","priority":"low"}]}`),
	}}}})
	e := w.open(1)
	id := e.session()
	e.ask("session/prompt", prompt(id, "plan"))
	e.ask("session/prompt", prompt(id, "more"))
	if err := w.api.Rename(t.Context(), session.ID(id), "The title"); err != nil {
		t.Fatal(err)
	}
	page, err := w.api.Messages(t.Context(), session.ID(id), api.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(page.Data, func(m session.Message) bool { _, ok := m.(*session.User); return ok })
	_, err = api.Reverts{Client: w.api}.StageRevert(t.Context(), session.ID(id), api.RevertRequest{MessageID: page.Data[i].Meta().ID})
	if err != nil {
		t.Fatal(err)
	}
	e.awaitUpdate(id, "undone")
	second := w.open(1)
	second.ask("session/load", w.params(id))
	got := strings.Join(second.updates(id, 0), "; ")
	if !strings.Contains(got, "plan") || !strings.Contains(got, "session_info_update") || strings.Count(got, "Done.") != 1 {
		t.Error(got)
	}
}

// A session that cannot be opened again stays open, and its prompt at work goes on.
func TestLoadThatFails(t *testing.T) {
	w := newWorld(t, held("go"))
	e := w.open(1)
	id := e.session()
	work := e.send("session/prompt", prompt(id, "go"))
	e.awaitUpdate(id, "One")
	for _, path := range []string{"/api/model", "/api/session/active"} {
		w.hook(func(r *http.Request) error {
			if r.URL.Path == path {
				return errors.New("no " + path)
			}
			return nil
		})
		e.refuse(codeInternal, "session/load", w.params(id))
	}
	w.hook(nil)
	close(w.gates["g1"])
	if m := e.answer(work); !strings.Contains(string(m.Result), "end_turn") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	e.ask("session/prompt", prompt(id, "more"))
}

// A session that could not be opened leaves nothing behind.
func TestSessionsThatCannotBeOpened(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	w.hook(func(r *http.Request) error {
		if r.URL.Path == "/api/model" {
			return errors.New("broken")
		}
		return nil
	})
	e.refuse(codeInternal, "session/new", w.params(""))
	e.refuse(codeInternal, "session/fork", w.params(id))
	w.hook(nil)
	// A fork works in the directory of its source.
	other := fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, t.TempDir())
	for _, method := range []string{"session/load", "session/fork"} {
		if why := e.refuse(codeInvalidParams, method, other); !strings.Contains(why, "cairn session move") {
			t.Error(why)
		}
	}
	e.ask("session/fork", w.params(id))
	page, err := w.api.Sessions(t.Context(), api.SessionQuery{})
	if err != nil || len(page.Data) != 2 {
		t.Errorf("%d sessions, %v", len(page.Data), err)
	}
}

// All sessions of a connection share one feed of live output, and there is a limit.
func TestManySessions(t *testing.T) {
	w := newWorld(t)
	e := w.open(2)
	ids := make([]string, maxSessions)
	for i := range ids {
		ids[i] = e.session()
	}
	if why := e.refuse(codeInvalidRequest, "session/new", w.params("")); !strings.Contains(why, "session/close") {
		t.Error(why)
	}
	page, err := w.api.Sessions(t.Context(), api.SessionQuery{Limit: 100})
	if err != nil || len(page.Data) != maxSessions {
		t.Errorf("%d sessions, %v", len(page.Data), err)
	}
	e.ask("session/prompt", prompt(ids[maxSessions-1], "x"))
	e.awaitUpdate(ids[maxSessions-1], "end_turn")
	if n := w.count("GET /api/event"); n != 1 {
		t.Errorf("%d feeds", n)
	}
	e.ask("session/resume", w.params(ids[0])) // again: it takes no further place
	e.ask("session/close", fmt.Sprintf(`{"sessionId":%q}`, ids[0]))
	e.session()
}

// A session that was deleted elsewhere is not open any more.
func TestDeletedElsewhere(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	if err := w.api.Delete(t.Context(), session.ID(id)); err != nil {
		t.Fatal(err)
	}
	e.awaitUpdate(id, "cannot be followed")
	if why := e.refuse(codeNotFound, "session/prompt", prompt(id, "x")); !strings.Contains(why, "not open") {
		t.Error(why)
	}
	e.ask("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
}

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
	if got := w.prompts(id); !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("prompts %q", got)
	}
}

// Requests that change a session take effect in their order, while others are answered beside them.
func TestOrderOfRequests(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	release := make(chan struct{})
	w.hook(func(r *http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/agent") {
			<-release
		}
		return nil
	})
	mode := e.send("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, id))
	work := e.send("session/prompt", prompt(id, "x"))
	e.ask("session/list", `{}`)
	if n := w.count("POST /api/session/" + id + "/prompt"); n != 0 {
		t.Error("the prompt was sent before the mode")
	}
	close(release)
	e.answer(mode)
	e.answer(work)
	page, err := w.api.Messages(t.Context(), session.ID(id), api.MessageQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := page.Data[0].(*session.Assistant); !ok || a.Agent != "plan" {
		t.Errorf("%#v", page.Data[0])
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

// A list has the sessions that the filter of archived ones says.
func TestListArchived(t *testing.T) {
	w := newWorld(t)
	e := w.open(2)
	kept, archived := e.session(), e.session()
	if err := w.api.Archive(t.Context(), session.ID(archived), true); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string][2]bool{"": {true, false}, "exclude": {true, false}, "include": {true, true}, "only": {false, true}} {
		r := e.ask("session/list", fmt.Sprintf(`{"archived":%q}`, filter))
		if got := [2]bool{strings.Contains(r, kept), strings.Contains(r, archived)}; got != want {
			t.Errorf("%q: %s", filter, r)
		}
	}
	e.refuse(codeInvalidParams, "session/list", `{"archived":"some"}`)
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

// The commands are sent again when the connection to the server was restored.
func TestCommandsAfterAReconnect(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	e.awaitUpdate(id, "available_commands_update")
	w.loseAnswer("GET /api/session/" + id + "/event")
	e.ask("session/load", w.params(id))
	isCommands := func(m message) bool {
		return isUpdateOf(m, id) && strings.Contains(string(m.Params), "available_commands_update")
	}
	e.await("commands for the third time", func(message) bool {
		n := 0
		for _, m := range e.said {
			if isCommands(m) {
				n++
			}
		}
		return n == 3
	})
}

// The usage has the cost of all requests, not only of turns that succeeded.
func TestUsage(t *testing.T) {
	var out bytes.Buffer
	a := &agent{conn: newConn(&out), dialect: dialect2{}}
	s := &liveSession{agent: a, id: "ses_1", items: newItemTracker("/d"), windows: map[session.ModelRef]int64{{}: 100}}
	for i, d := range []session.EventData{
		&session.StepEnded{Cost: session.Dollar, Tokens: session.Tokens{Input: 10}},
		&session.StepFailed{Cost: session.Dollar},
		&session.Retried{Request: &session.RequestCost{Cost: session.Dollar}},
		&session.CompactionEnded{Request: &session.RequestCost{Cost: session.Dollar}},
	} {
		s.sendEvent(session.Event{Seq: int64(i), Data: d})
	}
	a.conn.out.close()
	for i := range 4 {
		if want := fmt.Sprintf(`"cost":{"amount":%d,"currency":"USD"}`, i+1); !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in %s", want, out.String())
		}
	}
}

// An answer of a form is one of the options, unless the question takes others.
func TestReadAnswer(t *testing.T) {
	options := []session.Option{{Label: "Red"}, {Label: "Blue"}}
	no := false
	closed := session.Question{Options: options, Custom: &no}
	several := session.Question{Options: options, Custom: &no, Multiple: true}
	free := session.Question{Options: options, Multiple: true}
	for _, tt := range []struct {
		q             session.Question
		chosen, other any
		want          []string
	}{
		{closed, "Red", nil, []string{"Red"}},
		{closed, "Green", nil, nil},
		{closed, "Red", "Green", []string{"Red"}},
		{closed, []any{"Red", "Blue"}, nil, []string{"Red"}},
		{closed, 7, nil, nil},
		{session.Question{Options: options}, "Red", "Green", []string{"Green"}},
		{session.Question{Custom: &no}, "Anything", nil, []string{"Anything"}},
		{several, []any{"Red", "Blue", "Red", "Green", 7}, nil, []string{"Red", "Blue"}},
		{free, []any{"Red"}, "Green", []string{"Red", "Green"}},
		{free, []any{"Red"}, "Red", []string{"Red"}},
		{free, nil, nil, nil},
	} {
		if got := readAnswer(tt.q, tt.chosen, tt.other); !slices.Equal(got, tt.want) || got == nil {
			t.Errorf("%v, %v: got %q, want %q", tt.chosen, tt.other, got, tt.want)
		}
	}
}
