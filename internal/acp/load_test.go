package acp

import (
	"bytes"
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
	w.hook(func(r *http.Request) error {
		if r.URL.Query().Get("order") == "asc" {
			return errors.New("no messages")
		}
		return nil
	})
	e.refuse(codeInternal, "session/load", w.params(id))
	w.hook(nil)
	close(w.gates["g1"])
	if m := e.answer(work); !strings.Contains(string(m.Result), "end_turn") {
		t.Errorf("%s %v", m.Result, m.Error)
	}
	e.ask("session/prompt", prompt(id, "more"))
}

// A session that the client loads again, even several times in one go with prompts between, goes on with its prompts.
func TestLoadAgainAtWork(t *testing.T) {
	w := newWorld(t, held("go"))
	e := w.open(1)
	id := e.session()
	work := e.send("session/prompt", prompt(id, "go"))
	e.awaitUpdate(id, "One")
	loads := []int{e.send("session/load", w.params(id)), e.send("session/load", w.params(id))}
	next := e.send("session/prompt", prompt(id, "more"))
	for _, request := range loads {
		if m := e.answer(request); m.Error != nil {
			t.Error(m.Error)
		}
	}
	close(w.gates["g1"])
	for _, request := range []int{work, next} {
		if m := e.answer(request); !strings.Contains(string(m.Result), "end_turn") {
			t.Errorf("%s %v", m.Result, m.Error)
		}
	}
	// The transcript does not have the text yet that is being written: it comes as a whole, and once.
	got := strings.Join(e.updates(id, 0), "; ")
	if strings.Count(got, "user_message_chunk go") != 2 || strings.Count(got, "agent_message_chunk One two") != 1 {
		t.Error(got)
	}
}

// The commands are sent again when the connection to the server was restored.
func TestCommandsAfterAReconnect(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	e.awaitUpdate(id, "available_commands_update")
	stream := "GET /api/session/" + id + "/event"
	for w.count(stream) == 0 { // the stream of the first opening
		e.ask("session/list", `{}`)
	}
	w.loseAnswer(stream)
	e.ask("session/close", w.params(id))
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
