package v1_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// The events of a session that was created below /api are sent in V2's form too, and the recorded ones once more in the
// form in which OpenCode syncs them, with their version.
func TestSessionsOfBothContractsAreTold(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	var events []line
	var reader sync.WaitGroup
	started := make(chan struct{})
	reader.Go(func() {
		events = frames(t, w, "/global/event", "", func(f line) bool {
			payload := f.data["payload"].(map[string]any)
			if payload["type"] == "server.connected" {
				close(started)
			}
			return payload["type"] == "session.idle"
		})
	})
	<-started
	c := &api.Client{HTTP: w.client}
	s, err := c.Create(t.Context(), api.CreateSession{Location: &session.Location{Directory: w.work}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prompt(t.Context(), s.ID, api.PromptRequest{Prompt: &session.Prompt{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
	reader.Wait()
	kinds, ofV1 := []string(nil), []string(nil)
	for _, f := range events {
		p := f.data["payload"].(map[string]any)
		kind := p["type"].(string)
		if kind == "sync" {
			e := p["syncEvent"].(map[string]any)
			kind = "sync " + e["type"].(string)
			p = map[string]any{"properties": e["data"]}
		}
		if !strings.Contains(kind, "session.next.") {
			ofV1 = append(ofV1, kind)
			continue
		}
		kinds = append(kinds, strings.Replace(kind, "session.next.", "", 1))
		if at, _ := p["properties"].(map[string]any)["timestamp"].(string); !strings.HasSuffix(at, "Z") {
			t.Errorf("%s says no date: %v", kind, p)
		}
	}
	want := "prompt.admitted, sync prompt.admitted.1, prompted, sync prompted.1, step.started, sync step.started.1, " +
		"text.started, sync text.started.1, text.delta, text.ended, sync text.ended.1, step.ended, sync step.ended.2"
	if got := strings.Join(slices.Compact(kinds), ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := strings.Join(ofV1, " "); !strings.Contains(got, "message.part.updated") ||
		!strings.Contains(got, "session.created") {
		t.Errorf("V1's words are %s", got)
	}
}
