package acp

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// An ask is put to the editor, also to one that loads the session while the ask waits, and taken back when another client
// has answered it.
func TestAskAnsweredElsewhere(t *testing.T) {
	w := newWorld(t, script.Turn{Match: "edit", Steps: []script.Step{{Call: &script.Call{
		Name: "edit", Arguments: []byte(`{"filePath":"notes.txt","oldString":"hello","newString":"bye"}`),
	}}}})
	e := w.open(1)
	id := e.session()
	work := e.send("session/prompt", prompt(id, "edit"))
	isAsk := func(m message) bool { return m.Method == "session/request_permission" }
	e.await("an ask", isAsk)
	second := w.open(1)
	second.ask("session/load", w.params(id))
	second.await("an ask", isAsk)
	asks, err := w.api.Asks(t.Context(), session.ID(id))
	if err != nil || len(asks) != 1 {
		t.Fatal(asks, err)
	}
	err = w.api.Reply(t.Context(), session.ID(id), asks[0].ID, api.ReplyRequest{Reply: session.ReplyOnce})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*editor{e, second} {
		ask := one.await("an ask", isAsk)
		one.await("its end", func(m message) bool {
			return m.Method == "$/cancel_request" && string(m.Params) == fmt.Sprintf(`{"requestId":%s}`, ask.ID)
		})
		one.awaitUpdate(id, `"completed"`)
	}
	e.answer(work)
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
