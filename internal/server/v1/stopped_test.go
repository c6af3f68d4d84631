package v1_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A command that is stopped keeps what it had printed: that is its result, for those who look on and for the model.
func TestAStoppedCommandKeepsWhatItPrinted(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say(
			w,
			map[string]any{
				"tool_calls": []any{
					map[string]any{"index": 0, "id": "call_1", "type": "function", "function": map[string]any{
						"name": "bash", "arguments": `{"command":"echo begun; sleep 60"}`,
					}},
				},
			},
			"tool_calls",
		)
	}))
	t.Cleanup(srv.Close)
	w := newWorldOf(t, srv.URL, "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	next := w.follow(t, "/event")
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async",
		`{"parts":[{"type":"text","text":"go"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	for !strings.Contains(next(), `"output":"begun\n"`) {
	}
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/abort", ""); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	for !strings.Contains(next(), "session.idle") {
	}
	ms := get[[]struct {
		Info struct {
			Error any `json:"error"`
		} `json:"info"`
		Parts []struct {
			Type  string `json:"type"`
			State struct {
				Status   string         `json:"status"`
				Output   string         `json:"output"`
				Metadata jsontext.Value `json:"metadata"`
			} `json:"state"`
		} `json:"parts"`
	}](t, w, "/session/"+id+"/message")
	last := ms[len(ms)-1]
	if fmt.Sprint(last.Info.Error) == "<nil>" {
		t.Errorf("the message did not fail: %+v", last)
	}
	if len(last.Parts) < 2 {
		t.Fatalf("the parts are %+v", last.Parts)
	}
	for _, p := range last.Parts {
		if p.Type == "tool" &&
			(p.State.Status != "completed" || !strings.HasPrefix(p.State.Output, "begun\n") ||
				!strings.Contains(string(p.State.Metadata), `"exit":null`)) {
			t.Errorf("the call is %+v %s", p.State, p.State.Metadata)
		}
	}
}
