package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// A command of the user is a system prompt and an answer that called bash: it is streamed while it runs, can be listed,
// paged, read and removed as such, and no model sees it before its next prompt.
func TestShell(t *testing.T) {
	w := newWorld(t, "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"shell"}`).body).(map[string]any)["id"].(string)
	at := "/session/" + id
	for body, says := range map[string]string{
		`{"command":"true"}`:                                   `[\"agent\"]`,
		`{"agent":"build"}`:                                    `[\"command\"]`,
		`{"agent":"unknown","command":"true"}`:                 `[\"agent\"]`,
		`{"agent":"build","command":"true","messageID":"bad"}`: `[\"messageID\"]`,
		`{"agent":"build","command":"true","model":{"providerID":"mock","modelID":"mian"}}`: "mock/main",
	} {
		if a := w.ask(t, http.MethodPost, at+"/shell", body); a.status != http.StatusBadRequest ||
			!strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	next := w.follow(t, "/event")
	next()
	const prompt = "msg_f00000000001aaaaaaaaaaaaaa"
	a := w.ask(
		t,
		http.MethodPost,
		at+"/shell",
		`{"agent":"build","messageID":"`+prompt+`","command":"echo out; echo err >&2; exit 2"}`,
	)
	if a.status != http.StatusOK ||
		!strings.Contains(a.body, `"output":"out\nerr\n","title":"","metadata":{"output":"out\nerr\n"}`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	answer := read(t, a.body).(map[string]any)["info"].(map[string]any)["id"].(string)
	for _, want := range []string{
		`{"type":"busy"}`, `"role":"user"`, `executed by the user`, `"role":"assistant"`,
		`"status":"running"`,
	} {
		if e := next(); !strings.Contains(e, want) {
			t.Errorf("got %s, want %s", e, want)
		}
	}
	e := next()
	for strings.Contains(e, `"status":"running"`) {
		e = next()
	}
	for _, want := range []string{`"completed":`, `"status":"completed"`, `{"type":"idle"}`, "session.idle"} {
		if !strings.Contains(e, want) {
			t.Errorf("got %s, want %s", e, want)
		}
		if want != "session.idle" {
			e = next()
		}
	}
	if one := w.ask(t, http.MethodGet, at+"/message/"+answer, ""); one.body != a.body {
		t.Errorf("read %s, answered %s", one.body, a.body)
	}
	all := w.ask(t, http.MethodGet, at+"/message", "").body
	newest := w.ask(t, http.MethodGet, at+"/message?limit=1", "")
	oldest := w.ask(t, http.MethodGet, at+"/message?limit=1&before="+newest.header.Get("X-Next-Cursor"), "")
	if newest.body != "["+a.body+"]" || oldest.header.Get("X-Next-Cursor") != "" ||
		all != "["+oldest.body[1:len(oldest.body)-1]+","+a.body+"]" {
		t.Errorf("in pages %s and %s, of %s", oldest.body, newest.body, all)
	}
	if a := w.ask(t, http.MethodDelete, at+"/message/"+answer, ""); a.body != "true" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, m := range []string{answer, prompt} {
		if e := next(); !strings.Contains(e, "message.removed") || !strings.Contains(e, m) {
			t.Errorf("got %s, want that %s is gone", e, m)
		}
	}
	if left := w.ask(t, http.MethodGet, at+"/message", "").body; left != "[]" {
		t.Errorf("left is %s", left)
	}
}

// The model that a command of the user's names is the session's from then on, also for those that name none.
func TestTheModelOfACommandStays(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, http.MethodPatch, "/config",
		`{"provider":{"mock":{"models":{"other":{"name":"Other"}}}}}`); a.status != http.StatusOK {
		t.Fatal(a)
	}
	at := "/session/" + read(t, w.ask(t, http.MethodPost, "/session", "").body).(map[string]any)["id"].(string)
	for _, model := range []string{
		`,"model":{"providerID":"mock","modelID":"other"}`, "",
		`,"model":{"providerID":"mock","modelID":"other"}`,
	} {
		a := w.ask(t, http.MethodPost, at+"/shell", `{"agent":"plan","command":"true"`+model+`}`)
		if a.status != http.StatusOK || !strings.Contains(a.body, `"modelID":"other"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if s := w.ask(t, http.MethodGet, at, "").body; !strings.Contains(s, `"model":{"id":"other","providerID":"mock"`) ||
		strings.Contains(s, `"agent"`) {
		t.Error(s)
	}
}
