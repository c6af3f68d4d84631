package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// An invalid prompt is refused at its field before anything is stored.
func TestBadPrompts(t *testing.T) {
	w := newWorld(t, "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	text := `"parts":[{"type":"text","text":"hi"}]`
	for _, c := range []struct {
		session, body string
		status        int
		says          string
	}{
		{"ses_none", `{` + text + `}`, http.StatusNotFound, "Session not found: ses_none"},
		{id, `{}`, http.StatusBadRequest, `[\"parts\"]`},
		{id, `{"parts":[{"type":"nope"}]}`, http.StatusBadRequest, `[\"parts\"][0][\"type\"]`},
		{id, `{"parts":[]}`, http.StatusBadRequest, "empty"},
		{id, `{"messageID":"bad",` + text + `}`, http.StatusBadRequest, `[\"messageID\"]`},
		{id, `{"agent":"unknown",` + text + `}`, http.StatusBadRequest, `[\"agent\"]`},
		{id, `{"model":{"providerID":"mock","modelID":"mian"},` + text + `}`, http.StatusBadRequest, "mock/main"},
		{id, `{"variant":"none",` + text + `}`, http.StatusBadRequest, `[\"variant\"]`},
		{id, `{"model":5,` + text + `}`, http.StatusBadRequest, `[\"model\"]`},
		{id, `{"parts":[{"id":"bad","type":"text","text":"hi"}]}`, http.StatusBadRequest, `parts`},
	} {
		for _, path := range []string{"/message", "/prompt_async"} {
			a := w.ask(t, http.MethodPost, "/session/"+c.session+path, c.body)
			if a.status != c.status || !strings.Contains(a.body, c.says) {
				t.Errorf("%s %s: %d %s, want %d %s", path, c.body, a.status, a.body, c.status, c.says)
			}
		}
	}
	if ms := get[[]any](t, w, "/session/"+id+"/message"); len(ms) != 0 {
		t.Errorf("stored %v", ms)
	}
}

// An error of a part names the part as the client sent it, also for a command's file and for a changed part.
func TestARefusalNamesWhatWasSent(t *testing.T) {
	w := newWorld(t, "", nil)
	ids := things(t, w)
	id := ids["sessionID"]
	text, file := `{"type":"text","text":"hi"}`, `{"type":"file","mime":"image/png","url":"data:image/png;base64,!"}`
	type wrong struct{ method, path, body, at string }
	refused := []wrong{
		{
			"POST",
			"/session/" + id + "/command",
			`{"command":"init","arguments":"","parts":[` + file + `]}`,
			`["parts"][0]["url"]`,
		},
		{
			"PATCH",
			"/session/" + id + "/message/" + ids["messageID"] + "/part/" + ids["partID"],
			`{"id":"` + ids["partID"] + `","sessionID":"` + id + `","messageID":"` + ids["messageID"] +
				`","type":"text"}`,
			`["text"]`,
		},
		{"GET", "/find?pattern=[", "", `["pattern"]`},
		{"GET", "/agent?directory=/none/here", "", `["directory"]`},
		{"GET", "/config?directory=%00", "", `["directory"]`},
		{"POST", "/session?directory=/none/here", `{}`, `["directory"]`},
	}
	for body, at := range map[string]string{
		`{"parts":[` + text + `,` + file + `]}`:                                     `["parts"][1]["url"]`,
		`{"parts":[{"type":"file","mime":"text/plain","url":"file:///none/here"}]}`: `["parts"][0]["url"]`,
		`{"parts":[{"type":"text","text":""}]}`:                                     `["parts"][0]["text"]`,
		`{"parts":[]}`:                                                              `["parts"]`,
		`{"parts":[` + text + `,{"type":"agent","name":"unknown"}]}`:                `["parts"][1]["name"]`,
		`{"parts":[` + text + `,{"id":"bad","type":"text","text":"x"}]}`:            `["parts"][1]["id"]`,
		`{"format":{"type":"json_schema","schema":5},"parts":[` + text + `]}`:       `["format"]["schema"]`,
		`{"format":{"type":"json_schema","schema":{},"retryCount":99},"parts":[` + text +
			`]}`: `["format"]["retryCount"]`,
	} {
		refused = append(refused, wrong{"POST", "/session/" + id + "/message", body, at})
	}
	for _, c := range refused {
		a := w.ask(t, c.method, c.path, c.body)
		want := `\n  at ` + strings.ReplaceAll(c.at, `"`, `\"`) + `","kind"`
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, want) || strings.Contains(a.body, "prompt.") {
			t.Errorf("%s %s %s: %d %s, want it at %s", c.method, c.path, c.body, a.status, a.body, c.at)
		}
	}
}

// Pages of messages end before their cursor, say where the older ones are, and together hold each message once.
func TestMessagePages(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	for range 3 {
		if a := w.ask(t, http.MethodPost, "/session/"+id+"/message",
			`{"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusOK {
			t.Fatal(a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async",
		`{"noReply":true,"parts":[{"type":"text","text":"waits"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.status, a.body)
	}
	ids := func(body string) (out []string) {
		for _, m := range read(t, body).([]any) {
			out = append(out, m.(map[string]any)["info"].(map[string]any)["id"].(string))
		}
		return out
	}
	all := ids(w.ask(t, http.MethodGet, "/session/"+id+"/message", "").body)
	if len(all) != 7 {
		t.Fatalf("%d messages", len(all))
	}
	for limit := 1; limit <= 8; limit++ {
		var paged []string
		for query := ""; ; {
			a := w.ask(t, http.MethodGet, "/session/"+id+"/message?limit="+string(rune('0'+limit))+query, "")
			paged = append(ids(a.body), paged...)
			cursor := a.header.Get("X-Next-Cursor")
			if cursor == "" {
				break
			}
			if !strings.Contains(a.header.Get("Link"), cursor) {
				t.Errorf("the link is %s", a.header.Get("Link"))
			}
			query = "&before=" + cursor
		}
		if strings.Join(paged, " ") != strings.Join(all, " ") {
			t.Errorf("by %d: %v, want %v", limit, paged, all)
		}
	}
	for _, query := range []string{
		"?before=x&limit=1", "?before=eyJpZCI6Im1zZ19ub25lIn0", "?limit=-1", "?limit=x",
		"?before=eyJpZCI6Im1zZ19ub25lIn0&limit=1",
	} {
		if a := w.ask(t, http.MethodGet, "/session/"+id+"/message"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// A session in which an answer was wanted in a form is read like any other: OpenCode answers 400 for all of it from
// then on.
func TestASessionWithAFormIsRead(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	format := `"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"retryCount":0}`
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/message",
		`{`+format+`,"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	for _, path := range []string{"", "?limit=1", "?limit=100"} {
		a := w.ask(t, http.MethodGet, "/session/"+id+"/message"+path, "")
		if a.status != http.StatusOK || path != "?limit=1" && !strings.Contains(a.body, `"type":"json_schema"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	all := read(t, w.ask(t, http.MethodGet, "/session/"+id+"/message", "").body).([]any)
	for _, m := range all {
		message := m.(map[string]any)["info"].(map[string]any)["id"].(string)
		if a := w.ask(t, http.MethodGet, "/session/"+id+"/message/"+message, ""); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", message, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/message",
		`{"parts":[{"type":"text","text":"and now plainly"}]}`); a.status != http.StatusOK ||
		!strings.Contains(a.body, "Hello.") {
		t.Errorf("the next prompt: %d %s", a.status, a.body)
	}
}
