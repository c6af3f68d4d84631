package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A long session is the same in one answer, which leaves while it is made, and in pages; what waits is its end.
func TestAWholeSessionIsItsPages(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	at := "/session/" + s + "/message"
	if a := w.ask(t, http.MethodGet, at, ""); a.body != "[]" || a.header.Get("Content-Length") != "2" {
		t.Errorf("of nothing: %s %v", a.body, a.header)
	}
	for i := range 75 {
		if a := w.ask(t, http.MethodPost, at, fmt.Sprintf(`{"parts":[{"type":"text","text":"question %d"}]}`,
			i)); a.status != http.StatusOK {
			t.Fatal(a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/session/"+s+"/prompt_async",
		`{"noReply":true,"parts":[{"type":"text","text":"the last"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	var pages []string
	for before := ""; ; {
		a := w.ask(t, http.MethodGet, at+"?limit=7"+before, "")
		pages = append([]string{strings.TrimSuffix(strings.TrimPrefix(a.body, "["), "]")}, pages...)
		next := a.header.Get("X-Next-Cursor")
		if next == "" {
			break
		}
		before = "&before=" + next
	}
	a := w.ask(t, http.MethodGet, at, "")
	if want := "[" + strings.Join(pages, ",") + "]"; a.body != want {
		t.Errorf("the whole is\n%.3000s\nits pages are\n%.3000s", a.body, want)
	}
	if n := strings.Count(a.body, `"info":`); n != 151 || !strings.Contains(a.body, "the last") {
		t.Errorf("there are %d messages", n)
	}
	if a.header.Get("Content-Length") != "" {
		t.Errorf("it was made before it left: %v", a.header)
	}
}
