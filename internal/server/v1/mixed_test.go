package v1_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// Prompts of V2 name neither agent nor model: V1 shows them with those of their answers.
func TestPromptOfV2HasAgentAndModel(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	a := w.ask(t, http.MethodPost, "/api/session", `{}`)
	id := a.body[strings.Index(a.body, "ses_"):][:30]
	next := w.follow(t, "/event")
	if a = w.ask(t, http.MethodPost, "/api/session/"+id+"/prompt", `{"prompt":{"text":"Hi"}}`); a.status != 200 {
		t.Fatal(a)
	}
	want, seen, inV2 := `"agent":"build","model":{"providerID":"mock","modelID":"main"}`, "", false
	for line := next(); !strings.HasPrefix(line, "session.idle"); line = next() {
		if strings.HasPrefix(line, "message.updated") && strings.Contains(line, `"role":"user"`) {
			seen = line
		}
		inV2 = inV2 || strings.HasPrefix(line, "session.next.prompted")
	}
	if !strings.Contains(seen, want) || !inV2 {
		t.Error(seen, inV2)
	}
	if a = w.ask(t, http.MethodGet, "/session/"+id+"/message", ""); !strings.Contains(a.body, want) {
		t.Error(a.body)
	}
}

// Sessions that OpenCode's clients create are open over both contracts; a request may create one that asks.
func TestSessionsOfV2AreOpen(t *testing.T) {
	w := newWorld(t, "", nil)
	for body, open := range map[string]bool{`{}`: true, `{"asks":true}`: false} {
		a := w.ask(t, http.MethodPost, "/api/session", body)
		if strings.Contains(a.body, `"open"`) {
			t.Error("OpenCode's clients do not know the member: " + a.body)
		}
		id := a.body[strings.Index(a.body, "ses_"):][:30]
		a = w.ask(t, http.MethodGet, "/api/session/"+id+"?all=1", "")
		if strings.Contains(a.body, `"open":true`) != open {
			t.Errorf("%s: %s", body, a.body)
		}
		effect := map[bool]string{true: `"effect":"allow"`, false: `"effect":"ask"`}[open]
		a = w.ask(t, http.MethodPost, "/api/session/"+id+"/permission", `{"action":"bash","resources":["make"]}`)
		if !strings.Contains(a.body, effect) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
}

// A reply may leave the last questions without an answer.
func TestFewerAnswersThanQuestions(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"role":"tool"`) {
			say(w, map[string]any{"content": "Done."}, nil)
			say(w, map[string]any{}, "stop")
			return
		}
		one := `{"question":"Which?","header":"Which","options":[{"label":"A","description":"a"}]}`
		call := map[string]any{"index": 0, "id": "c1", "function": map[string]any{
			"name": "question", "arguments": `{"questions":[` + one + `,` + one + `]}`,
		}}
		say(w, map[string]any{"tool_calls": []any{call}}, nil)
		say(w, map[string]any{}, "tool_calls")
	}))
	t.Cleanup(srv.Close)
	w := newWorldOf(t, srv.URL, "", nil)
	id, next := newSession(t, w, `{}`), w.follow(t, "/event")
	w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", `{"parts":[{"type":"text","text":"choose"}]}`)
	question := pending(t, w, next, "question.asked", "/question")
	if a := w.ask(t, http.MethodPost, "/question/"+question+"/reply",
		`{"answers":[["A"],["A"],["A"]]}`); a.status != 400 {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodPost, "/question/"+question+"/reply", `{"answers":[["A"]]}`); a.status != 200 {
		t.Fatal(a)
	}
	for line := next(); !strings.HasPrefix(line, "session.idle"); line = next() {
		if strings.HasPrefix(line, "question.replied") && !strings.Contains(line, `"answers":[["A"],[]]`) {
			t.Error(line)
		}
	}
}

// In the tools of a prompt the last switch that matches decides: they stay in their order.
func TestToolsKeepTheirOrder(t *testing.T) {
	w := newWorld(t, "", nil)
	id := newSession(t, w, `{}`)
	body := `{"noReply":true,"tools":{"write":true,"*":false,"bash":true},"parts":[{"type":"text","text":"x"}]}`
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", body); a.status != http.StatusNoContent {
		t.Fatal(a)
	}
	rule := func(name, action string) string {
		return `{"permission":"` + name + `","pattern":"*","action":"` + action + `"}`
	}
	want := "[" + rule("write", "allow") + "," + rule("*", "deny") + "," + rule("bash", "allow") + "]"
	if a := w.ask(t, http.MethodGet, "/session/"+id, ""); !strings.Contains(a.body, want) {
		t.Errorf("%s, want %s", a.body, want)
	}
	body = `{"tools":{"write":1},"parts":[{"type":"text","text":"x"}]}`
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", body); a.status != 400 {
		t.Error(a)
	}
}

// The tools that a plugin turns off are off; that it turns some on has no effect, as its other rules that allow.
func TestToolsOfPlugins(t *testing.T) {
	w := newWorld(t, "", nil)
	id := newSession(t, w, `{}`)
	ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindExtension, Role: caller.Prompt})
	body := `{"noReply":true,"tools":{"task":false,"bash":true},"parts":[{"type":"text","text":"x"}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/session/"+id+"/message",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	a := w.ask(t, http.MethodGet, "/session/"+id, "")
	if want := `"permission":[{"permission":"task","pattern":"*","action":"deny"}]`; !strings.Contains(a.body, want) {
		t.Errorf("the session %s, want %s", a.body, want)
	}
}
