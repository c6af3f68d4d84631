package v1_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Terminal interfaces ignore what these operations answer: the stream has each refusal, too.
func TestRefusalsAreOnTheStream(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", "own/x": ""})
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	next := w.follow(t, "/event")
	next()
	elsewhere := w.follow(t, "/event?directory="+url.QueryEscape(w.work+"/own"))
	elsewhere()
	text := `{"parts":[{"type":"text","text":"x"}]`
	for _, c := range []struct{ operation, body, want string }{
		{"message", text + `,"agent":"biuld"}`, `agent \"biuld\" not found`},
		{"prompt_async", text + `,"model":{"providerID":"mock","modelID":"mian"}}`, `model \"mock/mian\" not found`},
		{"prompt_async", `{"parts":[]}`, "prompt"},
		{"message", `{"parts":[{"type":"subtask","prompt":"p","description":"d","agent":"gneral"}]}`, "gneral"},
		{"message", `{}`, "Missing key at parts"},
		{"command", `{"command":"nope","arguments":""}`, `\"nope\"`},
		{"shell", `{"agent":"biuld","command":"ls"}`, "biuld"},
		{"summarize", `{"providerID":"mock","modelID":"mian"}`, "mian"},
		{"revert", `{"messageID":"msg_1"}`, "msg_1"},
		{"fork", `{"messageID":"msg_1"}`, "msg_1"},
	} {
		if a := w.ask(t, http.MethodPost, "/session/"+id+"/"+c.operation, c.body); a.status/100 != 4 {
			t.Errorf("%s %s: %v", c.operation, c.body, a)
			continue
		}
		got := next()
		if !strings.HasPrefix(got, `session.error {"sessionID":"`+id+`","error":{"name":"UnknownError"`) ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.operation, c.body, got)
		}
		// Clients wait for the end of the work that they asked for, also after an error.
		for _, want := range []string{
			`session.status {"sessionID":"` + id + `","status":{"type":"idle"}}`,
			`session.idle {"sessionID":"` + id + `"}`,
		} {
			if got := next(); got != want {
				t.Errorf("%s %s: %s, want %s", c.operation, c.body, got, want)
			}
		}
	}
	w.ask(t, http.MethodGet, "/session/"+id+"/message/msg_1", "")
	w.ask(t, http.MethodPost, "/session/ses_none/prompt_async", text+`}`)
	w.ask(t, http.MethodPatch, "/session/"+id, `{"title":"Named"}`)
	if got := next(); !strings.HasPrefix(got, "session.updated") {
		t.Errorf("a refused read is on the stream: %s", got)
	}
	w.ask(t, http.MethodPatch, "/config?directory="+url.QueryEscape(w.work+"/own"), `{"username":"zed"}`)
	if got := elsewhere(); !strings.HasPrefix(got, "server.instance.disposed") {
		t.Errorf("another directory has it: %s", got)
	}
}

// The prompt is kept when its attachment has vanished: the model reads a note, and the stream says so.
func TestVanishedAttachment(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n"})
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	if err := os.Remove(filepath.Join(w.work, "a.txt")); err != nil {
		t.Fatal(err)
	}
	next := w.follow(t, "/event")
	next()
	file := `{"type":"file","mime":"text/plain","url":"file://` + w.work
	body := `{"noReply":true,"parts":[` + file + `/a.txt"},` + file + `/b.txt?start=7"}]}`
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", body); a.status != http.StatusNoContent {
		t.Fatal(a)
	}
	gone, beyond := "File not found: "+w.work+"/a.txt", "Offset 7 is beyond the end of "+w.work+"/b.txt"
	for _, want := range []string{gone, beyond} {
		if got := next(); !strings.HasPrefix(got, "session.error") || !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	a := w.ask(t, http.MethodGet, "/session/"+id+"/message", "")
	for _, want := range []string{
		`"text":"Read tool failed to read ` + w.work + `/a.txt with the following error: ` + gone,
		`"text":"Read tool failed to read ` + w.work + `/b.txt with the following error: ` + beyond,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
}
