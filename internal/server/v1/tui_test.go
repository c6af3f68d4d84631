package v1_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// As recorded from OpenCode (tui_control), in the streams of the directory and of everywhere, and in no other.
func TestTerminalsAreControlled(t *testing.T) {
	w := newWorld(t, "", map[string]string{"own/x": ""})
	here, all, elsewhere := w.follow(t, "/event"), w.follow(t, "/global/event"), w.follow(
		t,
		"/event?directory="+url.QueryEscape(w.work+"/own"),
	)
	for _, next := range []func() string{here, all, elsewhere} {
		if got := next(); got != "server.connected {}" {
			t.Fatal(got)
		}
	}
	a := w.ask(t, http.MethodPost, "/session", `{"title":"Tui"}`)
	_, rest, _ := strings.Cut(a.body, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	for next, want := range map[*func() string]string{&here: "session.created", &all: w.work + " session.created"} {
		if got := (*next)(); !strings.HasPrefix(got, want) {
			t.Fatal(got)
		}
	}
	all() // the same once more, as it is synced
	for _, c := range []struct{ path, body, want string }{
		{"append-prompt", `{"text":"hi"}`, `tui.prompt.append {"text":"hi"}`},
		{"open-help", "", `tui.command.execute {"command":"help.show"}`},
		{"open-sessions", "", `tui.command.execute {"command":"session.list"}`},
		{"open-themes", "", `tui.command.execute {"command":"session.list"}`},
		{"open-models", "", `tui.command.execute {"command":"model.list"}`},
		{"submit-prompt", "", `tui.command.execute {"command":"prompt.submit"}`},
		{"clear-prompt", "", `tui.command.execute {"command":"prompt.clear"}`},
		{"execute-command", `{"command":"session.new"}`, `tui.command.execute {"command":"session.new"}`},
		{"execute-command", `{"command":"agent_cycle"}`, `tui.command.execute {"command":"agent.cycle"}`},
		{"execute-command", `{"command":"nonsense"}`, `tui.command.execute {}`},
		{
			"show-toast", `{"message":"m","variant":"info"}`,
			`tui.toast.show {"message":"m","variant":"info","duration":5000}`,
		},
		{
			"publish", `{"type":"tui.toast.show","properties":{"message":"m","variant":"error","duration":1}}`,
			`tui.toast.show {"message":"m","variant":"error","duration":1}`,
		},
		{
			"publish", `{"type":"tui.toast.show","properties":{"message":"m","variant":"error"}}`,
			`tui.toast.show {"message":"m","variant":"error","duration":5000}`,
		},
		{"publish", `{"type":"tui.prompt.append","properties":{"text":"x"}}`, `tui.prompt.append {"text":"x"}`},
		{"select-session", `{"sessionID":"` + id + `"}`, `tui.session.select {"sessionID":"` + id + `"}`},
	} {
		if a := w.ask(t, http.MethodPost, "/tui/"+c.path, c.body); a.status != 200 || a.body != "true" {
			t.Fatalf("%s %s: %d %s", c.path, c.body, a.status, a.body)
		}
		if got := here(); got != c.want {
			t.Errorf("%s %s: %s", c.path, c.body, got)
		}
		if got := all(); got != w.work+" "+c.want {
			t.Errorf("%s %s: %s", c.path, c.body, got)
		}
	}
	if a := w.ask(t, http.MethodPost, "/instance/dispose?directory=own", ""); a.body != "true" {
		t.Fatal(a)
	}
	if got := elsewhere(); got != `server.instance.disposed {"directory":"`+w.work+`/own"}` {
		t.Error(got)
	}
	all()
	w.ask(t, http.MethodPost, "/global/dispose", "")
	if got := all(); got != "global global.disposed {}" {
		t.Error(got)
	}
	for directory, next := range map[string]func() string{w.work: here, w.work + "/own": elsewhere} {
		if got := next(); got != `server.instance.disposed {"directory":"`+directory+`"}` {
			t.Error(got)
		}
	}
	if a := w.ask(t, http.MethodPost, "/tui/control/response", "{}"); a.body != "true" {
		t.Error(a)
	}
	for _, c := range []struct{ path, body string }{
		{"append-prompt", `{}`},
		{"execute-command", `{"command":1}`},
		{"show-toast", `{"message":"m","variant":"loud"}`},
		{"show-toast", `{"message":"m","variant":"info","duration":-1}`},
		{"show-toast", `{"message":"m","variant":"info","duration":0}`},
		{"publish", `{"type":"x","properties":{}}`},
		{"publish", `{"type":"tui.toast.show","properties":{"message":"m","variant":"info","duration":-0.5}}`},
		{"select-session", `{"sessionID":"nonsense"}`},
	} {
		if a := w.ask(t, http.MethodPost, "/tui/"+c.path, c.body); a.status != 400 {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/tui/select-session", `{"sessionID":"ses_5"}`); a.status != 404 ||
		a.body != `{"name":"NotFoundError","data":{"message":"Session not found: ses_5"}}` {
		t.Error(a)
	}
}
