package v2_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Entries are set, listed and removed; a bad key, and a value beyond the limits, are 400 that names them. The paths of
// OpenCode 2.0 lead to the same entries.
func TestContextEntries(t *testing.T) {
	w := newWorld(t, says("ok"))
	s, err := w.client.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	ours := "/api/session/" + string(s.ID) + "/context-entry"
	theirs := "/api/experimental/session/" + string(s.ID) + "/instructions/entries"
	text := func(n int) string { return `{"value":"` + strings.Repeat("x", n) + `"}` }
	for _, step := range []struct {
		call, body string
		status     int
		want       string
	}{
		{"GET " + ours, "", 200, `{"data":[]}`},
		{"PUT " + ours + "/team.rules", `{"value":{"b":1,"a":"<x>"}}`, 204, ""},
		{"PUT " + theirs + "/kimaki", `{"value":"Be brief."}`, 204, ""},
		{
			"GET " + theirs, "", 200,
			`{"key":"kimaki","value":"Be brief."},{"key":"team.rules","value":{"a":"<x>","b":1}}]}`,
		},
		{"PUT " + ours + "/kimaki", `{"value":"Be brief.","new":true}`, 409, `\"kimaki\" is set already`},
		{"PUT " + ours + "/Bad", `{"value":1}`, 400, `the key \"Bad\" is invalid`},
		{"PUT " + ours + "/-x", `{"value":1}`, 400, `\"-x\"`},
		{
			"PUT " + ours + "/" + strings.Repeat("k", session.MaxEntryKey+1), `{"value":1}`, 400,
			`… has 129 bytes, the limit is 128`,
		},
		{"PUT " + ours + "/" + strings.Repeat("k", session.MaxEntryKey), `{"value":1}`, 204, ""},
		{"DELETE " + ours + "/" + strings.Repeat("k", session.MaxEntryKey), "", 204, ""},
		{"PUT " + ours + "/a", `{"value":null}`, 400, `value`},
		{"PUT " + ours + "/a", `{}`, 400, `value is missing`},
		{"PUT " + ours + "/large", text(session.MaxEntry), 400, `\"large\" has 16386 bytes, the limit is 16384`},
		{"PUT " + ours + "/l1", text(16000), 204, ""},
		{"PUT " + ours + "/l2", text(16000), 204, ""},
		{"PUT " + ours + "/l3", text(16000), 204, ""},
		{"PUT " + ours + "/l4", text(16000), 204, ""},
		{"PUT " + ours + "/l5", text(16000), 400, `with \"l5\" the entries have 80038 bytes, the limit is 65536`},
		{"DELETE " + ours + "/team.rules", "", 204, ""},
		{"DELETE " + ours + "/team.rules", "", 204, ""},
		{"DELETE " + ours + "/A", "", 400, `\"A\"`},
		{"GET " + strings.Replace(ours, string(s.ID), "ses_none", 1), "", 404, "ses_none"},
		{"PUT " + strings.Replace(ours, string(s.ID), "ses_none", 1) + "/a", `{"value":1}`, 404, "ses_none"},
	} {
		method, path, _ := strings.Cut(step.call, " ")
		req := httptest.NewRequest(method, path, strings.NewReader(step.body))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, req)
		if got := rec.Body.String(); rec.Code != step.status || !strings.Contains(got, step.want) {
			t.Errorf("%s: %d %s, want %d %s", step.call, rec.Code, got, step.status, step.want)
		}
	}
}
