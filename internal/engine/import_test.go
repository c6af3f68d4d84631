package engine

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

func importOf(hash string, n int) admit.ImportRequest {
	return admit.ImportRequest{Session: session.Session{
		ID: "ses_a", Title: "There", Location: session.Location{Directory: "/w"},
		Time: session.SessionTime{Created: 5, Updated: 9},
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
	piece := func(after int, ns ...int) *admit.ImportProgress {
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

// What OpenCode reverted is shown after the import until the next prompt, and never sent to the model.
func TestImportOfReverted(t *testing.T) {
	answer := func(id string, parts ...string) *session.Assistant {
		a := &session.Assistant{Head: session.Head{ID: session.MessageID(id), Type: session.TypeAssistant}, Finish: "stop"}
		a.Time.Completed = 7
		for _, p := range parts {
			a.Content = append(a.Content, &session.Text{Type: "text", PartID: session.PartID(p), Text: p})
		}
		return a
	}
	user := func(id string) *session.User {
		return &session.User{Head: session.Head{ID: session.MessageID(id), Type: session.TypeUser}, Text: id}
	}
	messages := []session.Message{
		user("msg_1"), answer("msg_2", "prt_a", "prt_b", "prt_c"), user("msg_3"), answer("msg_4", "prt_d"),
	}
	for name, c := range map[string]struct {
		revert *session.Revert
		want   string
	}{
		"none":          {nil, "[msg_1 prt_a prt_b prt_c msg_3 prt_d now]"},
		"from a prompt": {&session.Revert{MessageID: "msg_3", Exclusive: true}, "[msg_1 prt_a prt_b prt_c now]"},
		"from a part": {
			&session.Revert{MessageID: "msg_2", PartID: "prt_b"}, "[msg_1 prt_a now]",
		},
		"all":     {&session.Revert{MessageID: "msg_1", Exclusive: true}, "[now]"},
		"unknown": {&session.Revert{MessageID: "msg_9", Exclusive: true}, "[msg_1 prt_a prt_b prt_c msg_3 prt_d now]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := script.Turn{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}
				w := newWorld(t, script.Script{Turns: []script.Turn{turn}})
				defer w.close(t)
				r := importOf("h", len(messages))
				r.Session.Revert = c.revert
				for _, m := range messages {
					raw, err := json.Marshal(m)
					if err != nil {
						t.Fatal("encode:", err)
					}
					r.Messages = append(r.Messages, raw)
				}
				if _, err := w.engine.Commands.ImportSession(t.Context(), r); err != nil {
					t.Fatal("import:", err)
				}
				prompt := admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "now"}}
				if _, err := w.engine.Commands.AdmitPrompt(t.Context(), prompt); err != nil {
					t.Fatal("prompt:", err)
				}
				synctest.Wait()
				var sent []string
				for _, m := range w.player.ListRequests()[0].Messages {
					for _, p := range m.Parts {
						if text, ok := p.(llm.Text); ok {
							sent = append(sent, text.Text)
						}
					}
				}
				if got := fmt.Sprint(sent); got != c.want {
					t.Errorf("sent %s, want %s", got, c.want)
				}
				s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
				if err != nil || s.Revert != nil {
					t.Errorf("the revert of %+v is still staged: %v", s, err)
				}
				prove(t, w)
			})
		})
	}
}

// An imported revert hides messages. It changes no file here: what it would restore was planned elsewhere.
func TestImportedRevertHasNoFiles(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	r := importOf("h", 0)
	r.Session.Revert = &session.Revert{
		MessageID: "msg_1", Exclusive: true, Diff: "d", Snapshot: "s", Phase: session.RevertApplying,
		Files: []session.RevertedFile{{Path: "main.go", From: session.PathState{Blob: "b", Mode: session.ModeFile}}},
		Kept:  []session.KeptFile{{Path: "x", Copy: "/x"}},
	}
	got, err := w.engine.Commands.ImportSession(t.Context(), r)
	if err != nil {
		t.Fatal("import:", err)
	}
	want := &session.Revert{MessageID: "msg_1", Exclusive: true, Diff: "d", Snapshot: "s", Unknown: []string{
		"the files were taken back where the session was exported, and are not changed here",
	}}
	if diff := cmp.Diff(want, got.Session.Revert); diff != "" {
		t.Error("the revert (-want +got):", diff)
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
	for name, change := range map[string]func(*admit.ImportRequest){
		"other content":       func(r *admit.ImportRequest) { r.Session.Import.Hash = "other" },
		"no id":               func(r *admit.ImportRequest) { r.Session.ID = "x" },
		"no metadata":         func(r *admit.ImportRequest) { r.Session.Import = nil },
		"no message":          func(r *admit.ImportRequest) { r.Messages = []jsontext.Value{jsontext.Value(`{"type":"odd"}`)} },
		"more than announced": func(r *admit.ImportRequest) { r.Messages = []jsontext.Value{importedMessage(t, 1)} },
		"a turn without end": func(r *admit.ImportRequest) {
			r.Session.Import.Messages, r.Messages = 1,
				[]jsontext.Value{open}
		},
		"a gap": func(r *admit.ImportRequest) {
			r.Session.ID, r.Session.Import.Messages, r.After = "ses_b", 2,
				1
		},
		"invalid rules":    func(r *admit.ImportRequest) { r.Session.Permission[0].Action = "" },
		"invalid metadata": func(r *admit.ImportRequest) { r.Session.Metadata = jsontext.Value(`7`) },
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

// An import that extends an earlier one adds its messages, in pieces and across a restart, unless the session was used
// meanwhile.
func TestImportGrows(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	send := func(hash, extends string, all, after int, ns ...int) (*admit.ImportProgress, error) {
		r := importOf(hash, all)
		r.Extends, r.After = extends, after
		for _, n := range ns {
			r.Messages = append(r.Messages, importedMessage(t, n))
		}
		return w.engine.Commands.ImportSession(t.Context(), r)
	}
	must := func(want int, got *admit.ImportProgress, err error) *session.Session {
		t.Helper()
		if err != nil || got.Messages != want {
			t.Fatalf("%+v, %v, want %d messages", got, err, want)
		}
		return got.Session
	}
	got, err := send("h1", "", 2, 0, 0, 1)
	must(2, got, err)
	if _, err := send("h2", "other", 4, 2, 2, 3); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("an import that extends another one: %v", err)
	}
	got, err = send("h2", "h1", 4, 2, 2)
	must(3, got, err)
	w.kill(true)
	w.start()
	got, err = send("h2", "h1", 4, 2)
	must(3, got, err)
	got, err = send("h2", "h1", 4, 2, 2, 3)
	if s := must(4, got, err); s.Import.Hash != "h2" || s.Import.Messages != 4 {
		t.Errorf("%+v", s.Import)
	}
	got, err = send("h3", "h2", 5, 4, 4)
	must(5, got, err)
	got, err = send("h3", "h2", 5, 4, 4) // the same again
	must(5, got, err)
	// A session that was used here is left as it is.
	if err := w.engine.Commands.RemoveMessage(t.Context(), "ses_a", "msg_0"); err != nil {
		t.Fatal(err)
	}
	if _, err := send("h4", "h3", 6, 5, 5); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("after an edit: %v", err)
	}
}
