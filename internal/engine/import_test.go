package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

func importOf(hash string, n int) command.ImportRequest {
	return command.ImportRequest{Session: session.Session{
		ID: "ses_a", Title: "There", Location: session.Location{Directory: "/w"}, Time: session.SessionTime{Created: 5, Updated: 9},
		Permission: []session.Rule{
			{Action: "*", Resource: "*", Effect: session.Allow},
			{Action: "bash", Resource: "*", Effect: session.Deny},
		},
		Open: true, Import: &session.Import{From: "elsewhere", Hash: hash, Messages: n},
	}}
}

func importedMessage(t *testing.T, n int) jsontext.Value {
	t.Helper()
	b, err := json.Marshal(
		&session.User{
			Head: session.Head{ID: session.MessageID(fmt.Sprintf("msg_%d", n)), Type: session.TypeUser},
			Text: fmt.Sprint(n),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A session is imported in pieces, hidden until it is complete, and without rights. A piece that is sent twice
// changes nothing, also across a restart.
func TestImport(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	piece := func(after int, ns ...int) *command.ImportProgress {
		t.Helper()
		r := importOf("h", 3)
		r.After = after
		for _, n := range ns {
			r.Messages = append(r.Messages, importedMessage(t, n))
		}
		got, err := w.engine.Commands.ImportSession(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := piece(0, 0, 1); got.Messages != 2 || got.Session.Time.Archived == 0 || got.Session.Import.Whole {
		t.Errorf("after two of three: %+v %+v", got, got.Session.Import)
	}
	w.kill(true)
	w.start()
	if got := piece(0); got.Messages != 2 {
		t.Errorf("without messages: %+v", got)
	}
	got := piece(1, 1, 2)
	s := got.Session
	if got.Messages != 3 || s.Time.Archived != 0 || !s.Import.Whole || s.Open || len(s.Permission) != 1 ||
		s.Permission[0].Effect != session.Deny ||
		s.Time.Updated != 9 {
		t.Errorf("complete: %+v", s)
	}
	written := len(allEvents(t, w.store))
	piece(0, 0, 1, 2)
	piece(2, 2)
	if n := len(allEvents(t, w.store)); n != written || n != 5 {
		t.Errorf("%d events, then %d", written, n)
	}
}

func TestImportIsRefused(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	if _, err := w.engine.Commands.ImportSession(t.Context(), importOf("h", 0)); err != nil {
		t.Fatal(err)
	}
	written := len(allEvents(t, w.store))
	open := jsontext.Value(
		`{"id":"msg_o","type":"assistant","time":{"created":1},"agent":"a","model":{"id":"m","providerID":"p"},"content":[]}`,
	)
	for name, change := range map[string]func(*command.ImportRequest){
		"other content":       func(r *command.ImportRequest) { r.Session.Import.Hash = "other" },
		"no id":               func(r *command.ImportRequest) { r.Session.ID = "x" },
		"no metadata":         func(r *command.ImportRequest) { r.Session.Import = nil },
		"no message":          func(r *command.ImportRequest) { r.Messages = []jsontext.Value{jsontext.Value(`{"type":"odd"}`)} },
		"more than announced": func(r *command.ImportRequest) { r.Messages = []jsontext.Value{importedMessage(t, 1)} },
		"a turn without end":  func(r *command.ImportRequest) { r.Session.Import.Messages, r.Messages = 1, []jsontext.Value{open} },
		"a gap":               func(r *command.ImportRequest) { r.Session.ID, r.Session.Import.Messages, r.After = "ses_b", 2, 1 },
		"invalid rules":       func(r *command.ImportRequest) { r.Session.Permission[0].Action = "" },
		"invalid metadata":    func(r *command.ImportRequest) { r.Session.Metadata = jsontext.Value(`7`) },
	} {
		r := importOf("h", 0)
		change(&r)
		if _, err := w.engine.Commands.ImportSession(t.Context(), r); !errors.As(err, new(*session.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(allEvents(t, w.store)); n != written {
		t.Errorf("%d events were written", n-written)
	}
}
