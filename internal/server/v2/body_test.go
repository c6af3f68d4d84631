package v2_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// target replaces the placeholders of a route's path by things that exist.
func target(r operation.Operation, id session.ID) string {
	return strings.NewReplacer("{sessionID}", string(id), "{messageID}", "msg_1", "{requestID}", "per_1",
		"{providerID}", "mock", "{id}", "psv_1").
		Replace(r.Path)
}

// changing returns the routes that take a body.
func changing() []operation.Operation {
	var out []operation.Operation
	for _, r := range v2.ListOperations() {
		if r.RequiresBody() {
			out = append(out, r)
		}
	}
	return out
}

func (w *world) post(r operation.Operation, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.Method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	return rec
}

// No body makes an operation panic, answer 5xx, or answer without a tagged error.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `[]`, `7`, `"x"`, `{`, ``, `{"a":1,"a":2}`, strings.Repeat("[", 70), `{"prompt":{"text":"\ud800"}}`,
		"{\"prompt\":{\"text\":\"\xff\"}}",
		`{"prompt":{"text":"x","files":[{"uri":"data:,"}],"agents":[{"name":"a","source":{"start":-1,"end":1e9,"text":""}}]},"resume":false}`,
		`{"id":"ses_x","model":{"id":"main","providerID":"mock"},"location":{"directory":"/x"}}`, `{"agent":"plan"}`,
		`{"budget":null}`,
		`{"budget":{"usd":1e-30,"tokens":9223372036854775807}}`, `{"budget":{"usd":"1"}}`, `{"reply":"once","message":"m"}`,
		`{"title":"x","archived":true,"permission":[]}`,
		`{"messageIDs":["msg_1"]}`, `{"action":"a","resources":["r"],"metadata":{"a":[1,{"b":"\ud83d"}]},"source":{"type":"tool"}}`, `{"prompt":{"text":"x","new":{"deep":[null]}}}`,
	} {
		for i := range changing() {
			f.Add(i, s)
		}
	}
	var w *world
	var s *session.Session
	n := 0
	f.Fuzz(func(t *testing.T, i int, body string) {
		if n++; n%1000 == 1 { // a store in memory grows slow with what was made
			w = newWorld(t, says("ok"))
			s, _ = w.client.Create(t.Context(), api.CreateSession{})
		}
		routes := changing()
		r := routes[((i%len(routes))+len(routes))%len(routes)]
		if strings.HasSuffix(r.Path, "/prompt") {
			body = strings.Replace(body, `"resume":true`, `"resume":false`, 1)
		}
		rec := w.post(r, target(r, s.ID), body)
		if rec.Code >= 500 {
			t.Fatalf("%s %s %q: %d %s", r.Method, r.Path, body, rec.Code, rec.Body)
		}
		if rec.Code >= 400 {
			var e struct {
				Tag     string `json:"_tag"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil || e.Tag == "" || e.Message == "" {
				t.Fatalf("%s %s %q: %d %s", r.Method, r.Path, body, rec.Code, rec.Body)
			}
		}
	})
}

// No query, header or path makes an operation that only reads answer 5xx.
func FuzzQueries(f *testing.F) {
	for _, s := range []string{
		"limit=1", "cursor=e30", "after=9999999999999999999", "order=asc&cursor=x",
		"location[directory]=%00", "location%5Bdirectory%5D=/x&location[workspace]=w", "search=%25_", "parent=",
		"live=1", "%zz", "a;b", "limit=1e3", "cursor=" + strings.Repeat("A", 9000),
	} {
		for i := range v2.ListOperations() {
			f.Add(i, s, "5", "/x")
		}
	}
	w := newWorld(f, says("ok"))
	s, err := w.client.Create(f.Context(), api.CreateSession{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, i int, query, last, directory string) {
		routes := v2.ListOperations()
		r := routes[((i%len(routes))+len(routes))%len(routes)]
		if r.Method != http.MethodGet || r.Unimplemented {
			return
		}
		req := httptest.NewRequest(http.MethodHead, target(r, s.ID), nil) // of a stream, its beginning only
		req.URL.RawQuery = query
		req.Header["Last-Event-Id"] = []string{last}
		req.Header["X-Opencode-Directory"] = []string{directory}
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, req)
		if rec.Code >= 500 {
			t.Fatalf("%s?%s: %d %s", r.Path, query, rec.Code, rec.Body)
		}
	})
}

func TestDeepBodiesAreRefused(t *testing.T) {
	w := newWorld(t, says("ok"))
	defer w.close(t)
	for depth, want := range map[int]int{60: 200, httpio.MaxDepth + 1: 400, 100_000: 400} {
		body := fmt.Sprintf(`{"x":%s"[[[[]]]]"%s}`, strings.Repeat("[", depth-1), strings.Repeat("]", depth-1))
		if rec := w.post(operation.Operation{Method: http.MethodPost}, "/api/session", body); rec.Code != want {
			t.Errorf("depth %d: %d %s", depth, rec.Code, rec.Body)
		}
	}
}

// What is no text never reaches the log: it would make every later answer fail.
func TestBrokenTextIsRepaired(t *testing.T) {
	w := newWorld(t, says("ok"))
	defer w.close(t)
	s, err := w.client.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{`\ud83d`, "a\xffb", `\uD800\u0041`, `\ud83d\ude00`} {
		body := fmt.Sprintf(`{"id":"msg_%d","resume":false,"prompt":{"text":"x%s","unknown":{"y":"%s"}}}`, i, text, text)
		if rec := w.post(operation.Operation{Method: http.MethodPost}, "/api/session/"+string(s.ID)+"/prompt",
			body); rec.Code != 200 {
			t.Errorf("%q: %d %s", text, rec.Code, rec.Body)
		}
	}
	h, err := w.client.History(t.Context(), s.ID, 0, 0)
	if err != nil || len(h.Data) != 4 {
		t.Fatalf("%d events, %v", len(h.Data), err)
	}
	for i, want := range []string{"x\uFFFD", "xa\uFFFDb", "x\uFFFDA", "x😀"} {
		if got := h.Data[i].Data.(*session.PromptAdmitted).Prompt.Text; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// A body that lacks what our document requires is refused, and no other empty body is refused for lacking something.
func TestDocumentRequiresMembers(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Body struct {
				Required bool `json:"required"`
				Content  map[string]struct {
					Schema struct {
						Required []string `json:"required"`
					} `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(document(t), &doc); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, says("ok"))
	defer w.close(t)
	s, err := w.client.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, r := range v2.ListOperations() {
		body := doc.Paths[r.Path][strings.ToLower(r.Method)].Body
		required := body.Content["application/json"].Schema.Required
		if body.Content == nil || strings.Contains(r.Path, "{requestID}") { // the request is sought first
			continue
		}
		rec := w.post(r, target(r, s.ID), `{}`)
		missing := rec.Code == http.StatusBadRequest && strings.Contains(rec.Body.String(), "missing")
		if missing && len(required) == 0 || len(required) > 0 && rec.Code/100 != 4 {
			t.Errorf("%s %s requires %q: %d %s", r.Method, r.Path, required, rec.Code, rec.Body)
		}
		count++
	}
	if count < 8 {
		t.Errorf("only %d bodies were tried", count)
	}
}
