package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// made is the id of a new session.
func made(t *testing.T, w *world) string {
	t.Helper()
	s, _ := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)
	id, _ := s["id"].(string)
	return id
}

// null for a member that may be missing is as good as nothing, also where it says to leave something.
func TestNullIsAsGoodAsNothing(t *testing.T) {
	w := newWorld(t, "", nil)
	id := made(t, w)
	for _, c := range [][2]string{
		{"/tui/show-toast", `{"message":"m","variant":"info","duration":null}`},
		{"/experimental/workspace/warp", `{"id":null,"sessionID":"` + id + `"}`},
		{
			"/session/" + id + "/prompt_async",
			`{"noReply":true,"parts":[{"type":"text","text":"x","time":null,"metadata":null}]}`,
		},
	} {
		if a := w.ask(t, http.MethodPost, c[0], c[1]); a.status >= 300 {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
}

// Additional members of a part are validated, too.
func TestWhatIsSaidBesideIsLookedAt(t *testing.T) {
	w := newWorld(t, "", nil)
	id := made(t, w)
	for _, c := range []struct {
		path, body string
		status     int
		names      string
	}{
		{
			"/session/" + id + "/message", `{"parts":[{"type":"text","text":"x","time":"a"}]}`, 400,
			`[\"parts\"][0][\"time\"]`,
		},
		{
			"/session/" + id + "/message", `{"parts":[{"type":"text","text":"x","metadata":5}]}`, 400,
			`[\"parts\"][0][\"metadata\"]`,
		},
		{
			"/session/" + id + "/message", `{"parts":[{"type":"file","mime":"a/b","url":"data:,x","source":[]}]}`, 400,
			`[\"parts\"][0][\"source\"]`,
		},
		{
			"/session/" + id + "/message",
			`{"parts":[{"type":"subtask","prompt":"p","agent":"general"}]}`, 400, `[\"parts\"][0][\"description\"]`,
		},
		{"/session", `{"workspaceID":"wrk_none"}`, 404, "wrk_none"},
	} {
		a := w.ask(t, http.MethodPost, c.path, c.body)
		if a.status != c.status || !strings.Contains(a.body, c.names) {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.status, a.body)
		}
	}
}
