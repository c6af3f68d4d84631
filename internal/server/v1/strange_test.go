package v1_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// wanting is a model that calls a tool for every prompt, and says nothing more once the call has come to something.
func wanting(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		name, arguments := "bash", `{"command":"echo ran >> ran","description":"write"}`
		if strings.Contains(string(b), `"content":"choose"`) {
			name, arguments = "question",
				`{"questions":[{"question":"Which?","header":"Which","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`
		}
		if strings.Contains(string(b), `"role":"tool"`) {
			say(w, map[string]any{"content": "Done."}, "stop")
			return
		}
		call := map[string]any{
			"index":    0,
			"id":       "call_1",
			"type":     "function",
			"function": map[string]any{"name": name, "arguments": arguments},
		}
		say(w, map[string]any{"tool_calls": []any{call}}, "tool_calls")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// pending returns the id of what waits for a reply once something does.
func pending(t *testing.T, w *world, next func() string, kind, path string) string {
	t.Helper()
	for !strings.Contains(next(), kind) {
	}
	v := read(t, w.ask(t, http.MethodGet, path, "").body).([]any)
	if len(v) != 1 {
		t.Fatalf("%s has %v", path, v)
	}
	return v[0].(map[string]any)["id"].(string)
}

// A path that names two things names one and what is part of it: under another session's id, or another message's,
// nothing is found, read, changed or allowed.
func TestNothingIsReachedThroughAnother(t *testing.T) {
	w := newWorldOf(t, wanting(t), `, "permission": {"bash": "ask"}`, nil)
	next := w.follow(t, "/event")
	begin := func(text string) string {
		id := newSession(t, w, `{"title":"x"}`)
		if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async",
			`{"parts":[{"type":"text","text":"`+text+`"}]}`); a.status != http.StatusNoContent {
			t.Fatal(a.body)
		}
		return id
	}
	mine := begin("run")
	permission := pending(t, w, next, "permission.asked", "/permission")
	asking := begin("choose")
	question := pending(t, w, next, "question.asked", "/question")
	other := newSession(t, w, `{"title":"other"}`)
	const m, p, m2, p2 = "msg_f00000000001aaaaaaaaaaaaaa", "prt_f00000000001aaaaaaaaaaaaaa",
		"msg_f00000000002aaaaaaaaaaaaaa", "prt_f00000000002aaaaaaaaaaaaaa"
	for message, part := range map[string]string{m: p, m2: p2} {
		body := `{"noReply":true,"messageID":"` + message + `","parts":[{"id":"` + part +
			`","type":"text","text":"hi"}]}`
		if a := w.ask(t, http.MethodPost, "/session/"+other+"/prompt_async", body); a.status != http.StatusNoContent {
			t.Fatal(a.body)
		}
	}
	text := func(s, m, p string) string {
		return fmt.Sprintf(`{"id":%q,"sessionID":%q,"messageID":%q,"type":"text","text":"changed"}`, p, s, m)
	}
	const unknown = "ses_0000000unknown"
	type try struct{ method, path, body, says string }
	var tries []try
	for _, s := range []string{mine, asking, unknown} {
		of := "/session/" + s
		tries = append(
			tries,
			try{http.MethodGet, of + "/message/" + m, "", ""},
			try{http.MethodGet, "/api" + of + "/message/" + m, "", ""},
			try{http.MethodPatch, "/api" + of + "/inbox/" + m, `{"delivery":"queue"}`, ""},
			try{http.MethodDelete, "/api" + of + "/inbox/" + m, "", ""},
			try{http.MethodDelete, of + "/message/" + m, "", ""},
			try{http.MethodDelete, of + "/message/" + m + "/part/" + p, "", ""},
			try{http.MethodPatch, of + "/message/" + m + "/part/" + p, text(s, m, p), ""},
			try{http.MethodPatch, of + "/message/" + m + "/part/" + p, text(other, m, p), ""},
		)
	}
	for _, s := range []string{other, asking, unknown} {
		says := "Permission request not found"
		if s == unknown {
			says = "Session not found: " + unknown
		}
		for _, reply := range []session.Reply{session.ReplyOnce, session.ReplyAlways, session.ReplyReject} {
			tries = append(
				tries,
				try{
					http.MethodPost,
					"/session/" + s + "/permissions/" + permission,
					`{"response":"` + string(reply) + `"}`,
					says,
				},
			)
		}
		tries = append(
			tries,
			try{http.MethodGet, "/api/session/" + s + "/permission/" + permission, "", ""},
			try{http.MethodPost, "/api/session/" + s + "/permission/" + permission + "/reply", `{"reply":"once"}`, ""},
		)
	}
	for _, s := range []string{other, mine, unknown} {
		tries = append(
			tries,
			try{http.MethodPost, "/api/session/" + s + "/question/" + question + "/reply", `{"answers":[["A"]]}`, ""},
			try{http.MethodPost, "/api/session/" + s + "/question/" + question + "/reject", ``, ""},
		)
	}
	tries = append(
		tries,
		try{http.MethodDelete, "/session/" + other + "/message/" + m2 + "/part/" + p, "", "Part not found"},
		try{
			http.MethodPatch,
			"/session/" + other + "/message/" + m + "/part/" + p2,
			text(other, m, p2),
			"Part not found",
		},
		try{
			http.MethodPost,
			"/permission/" + strings.Replace(question, "que_", "per_", 1) + "/reply",
			`{"reply":"once"}`,
			"",
		},
		try{
			http.MethodPost,
			"/question/" + strings.Replace(permission, "per_", "que_", 1) + "/reply",
			`{"answers":[["A"]]}`,
			"",
		},
	)
	before := w.ask(t, http.MethodGet, "/session/"+other+"/message", "").body
	for _, c := range tries {
		if a := w.ask(t, c.method, c.path, c.body); a.status != http.StatusNotFound ||
			!strings.Contains(a.body, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
	if after := w.ask(t, http.MethodGet, "/session/"+other+"/message", "").body; after != before {
		t.Errorf("the other session has now %s\nbefore %s", after, before)
	}
	for path, id := range map[string]string{"/permission": permission, "/question": question} {
		if a := w.ask(t, http.MethodGet, path, ""); !strings.Contains(a.body, id) {
			t.Errorf("%s waits no more: %s", path, a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/session/"+mine+"/permissions/"+permission,
		`{"response":"reject"}`); a.status != http.StatusOK {
		t.Errorf("its own session: %d %s", a.status, a.body)
	}
	w.ask(t, http.MethodPost, "/session/"+asking+"/abort", "")
}
