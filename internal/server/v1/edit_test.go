package v1_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The parts of a message can be edited while the session is idle: clients get an event, answers show the edit, ids
// stay, and other members are refused.
func TestEdits(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"edits"}`).body).(map[string]any)["id"].(string)
	prompt := `{"messageID":"msg_f00000000001aaaaaaaaaaaaaa","parts":[{"id":"prt_f00000000001aaaaaaaaaaaaaa","type":"text","text":"one"},` +
		`{"id":"prt_f00000000002aaaaaaaaaaaaaa","type":"text","text":"two"},` +
		`{"id":"prt_f00000000003aaaaaaaaaaaaaa","type":"file","mime":"text/markdown","filename":"n.txt","url":"data:text/markdown,note"}]}`
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/message", prompt); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	ms := get[[]struct {
		Info struct {
			ID string `json:"id"`
		} `json:"info"`
		Parts []struct {
			ID string `json:"id"`
		} `json:"parts"`
	}](t, w, "/session/"+id+"/message")
	at := func(m, p int) string {
		return fmt.Sprintf("/session/%s/message/%s/part/%s", id, ms[m].Info.ID, ms[m].Parts[p].ID)
	}
	part := func(m, p int, kind, more string) string {
		return fmt.Sprintf(
			`{"id":%q,"sessionID":%q,"messageID":%q,"type":%q%s}`,
			ms[m].Parts[p].ID,
			id,
			ms[m].Info.ID,
			kind,
			more,
		)
	}
	next := w.follow(t, "/event")
	next()
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string // of the answer
		event              string // the event, "" for none
	}{
		{
			http.MethodPatch, at(0, 1), part(0, 1, "text", `,"text":"zwei","synthetic":true`), 200,
			`"text":"zwei","synthetic":true`, `message.part.updated`,
		},
		{
			http.MethodPatch, at(0, 2), part(0, 2, "file",
				`,"mime":"text/plain","filename":"m.txt","url":"data:text/plain,more"`), 200, `"filename":"m.txt"`,
			`"filename":"m.txt"`,
		},
		{http.MethodPatch, at(0, 1), part(0, 0, "text", `,"text":"x"`), 400, `[\"id\"]`, ""},
		{http.MethodPatch, at(0, 1), part(0, 1, "file", `,"mime":"text/plain","url":"data:,x"`), 400, `[\"type\"]`, ""},
		{http.MethodPatch, at(0, 1), part(0, 1, "text", ``), 400, `[\"text\"]`, ""},
		{http.MethodPatch, at(0, 1), `{"text":5}`, 400, `[\"text\"]`, ""},
		{http.MethodPatch, at(1, 1), part(1, 1, "text", `,"text":"Bye."`), 200, `"text":"Bye."`, `"text":"Bye."`},
		{http.MethodPatch, at(1, 0), part(1, 0, "step-start", ``), 400, "cannot be edited", ""},
		{http.MethodDelete, at(1, 2), "", 400, "cannot be edited", ""},
		{http.MethodDelete, at(0, 0), "", 200, "true", "message.part.removed"},
		{http.MethodDelete, at(0, 0), "", 404, "Part not found", ""},
		{http.MethodDelete, at(1, 1), "", 200, "true", "message.part.removed"},
		{http.MethodDelete, "/session/" + id + "/message/" + ms[1].Info.ID, "", 200, "true", "message.removed"},
		{http.MethodDelete, "/session/" + id + "/message/" + ms[1].Info.ID, "", 404, "Message not found", ""},
	} {
		a := w.ask(t, c.method, c.path, c.body)
		if a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, a.status, a.body, c.status, c.says)
		}
		if c.event != "" {
			if e := next(); !strings.Contains(e, c.event) {
				t.Errorf("%s %s: got %s, want %s", c.method, c.path, e, c.event)
			}
		}
	}
	left := w.ask(t, http.MethodGet, "/session/"+id+"/message", "").body
	want := fmt.Sprintf(
		`"parts":[{"id":%q,"sessionID":%[2]q,"messageID":%[3]q,"type":"text","text":"zwei","synthetic":true},`+
			`{"id":%[4]q,"sessionID":%[2]q,"messageID":%[3]q,"type":"file","mime":"text/plain","filename":"m.txt","url":"data:text/plain,more"}]}]`,
		ms[0].Parts[1].ID,
		id,
		ms[0].Info.ID,
		ms[0].Parts[2].ID,
	)
	if !strings.HasSuffix(left, want) {
		t.Errorf("left is %s\nwant  %s", left, want)
	}
}

// A session that works cannot be edited: deleting a message is a conflict.
func TestEditsWait(t *testing.T) {
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	w := newWorldOf(t, hanging(t, begun, finish), "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"edits"}`).body).(map[string]any)["id"].(string)
	const m = "msg_f00000000001aaaaaaaaaaaaaa"
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async",
		`{"messageID":"`+m+`","parts":[{"type":"text","text":"one"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	<-begun
	if a := w.ask(t, http.MethodDelete, "/session/"+id+"/message/"+m, ""); a.status != http.StatusConflict ||
		!strings.Contains(a.body, "SessionBusyError") {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(finish)
}

// hanging is a model that says that it was asked, and answers once it may.
func hanging(t *testing.T, begun chan<- struct{}, finish <-chan struct{}) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		select {
		case <-finish:
		case <-r.Context().Done():
		}
		say(w, map[string]any{"content": "Hello."}, "stop")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
