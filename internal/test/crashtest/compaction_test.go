//go:build unix

package crashtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestKillCompaction kills the server at every step of a requested compaction. The next one leaves the session as it
// was, or compacted; in both cases the request of before can be had byte for byte, and the next prompt is answered.
func TestKillCompaction(t *testing.T) {
	w := newWorld(t, 0)
	ctx := t.Context()
	c := w.start("")
	s, err := c.client.Create(ctx, api.CreateSession{Title: "a long one"})
	if err != nil {
		t.Fatal(err)
	}
	prompt := func(c *child, text string) {
		if _, err := c.client.Prompt(ctx, s.ID, api.PromptRequest{Prompt: &session.Prompt{Text: text}}); err != nil {
			t.Fatal(err)
		}
		if err := c.client.Wait(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	nextRequest := func(c *child) string {
		next, err := api.Contexts{Client: c.client}.NextRequest(ctx, s.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{next.Prefix.Hash, next.Request}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for i := range 8 {
		prompt(c, fmt.Sprintf("say %d: %s", i, strings.Repeat("many words ", 2000)))
	}
	before := nextRequest(c)
	c.kill()
	deaths, compacted := 0, 0
	for _, point := range []fault.Name{
		fault.CompactStart, fault.CompactSummary, fault.CompactPreSwitch, fault.CompactSwitched,
		fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer,
	} {
		last := 1
		if strings.HasPrefix(string(point), "store") {
			last = 4
		}
		for nth := 1; nth <= last; nth++ {
			name := fmt.Sprintf("%s#%d", point, nth)
			key := "msg_" + strings.NewReplacer(".", "x", "_", "x", "#", "y").Replace(name)
			request := api.CompactRequest{ID: session.MessageID(key)}
			if c = w.start(name + "=kill"); c == nil {
				deaths++
			} else {
				_, err := c.client.Compact(ctx, s.ID, request)
				if err == nil {
					err = c.client.Wait(ctx, s.ID)
				}
				if err != nil {
					deaths++
				}
				c.kill()
			}
			c = w.start("")
			if _, err := c.client.Compact(ctx, s.ID, request); err != nil { // as a client does that got no answer
				t.Fatalf("%s: %v", name, err)
			}
			if err := c.client.Wait(ctx, s.ID); err != nil {
				t.Fatal(err)
			}
			if got, err := c.client.Session(ctx, s.ID); err != nil || got.Compacting != nil {
				t.Errorf("%s: a compaction is still under way: %v", name, err)
			}
			if now := nextRequest(c); now != before {
				compacted++
				if err := c.client.Uncompact(ctx, s.ID); err != nil {
					t.Errorf("%s: the request has changed, and no compaction can be undone: %v", name, err)
				}
			}
			if now := nextRequest(c); now != before {
				t.Fatalf("%s: the next request was\n%.2000s\nand is\n%.2000s", name, before, now)
			}
			c.kill()
		}
	}
	if deaths < 12 || compacted == 0 || compacted == 16 {
		t.Errorf("%d deaths, %d compactions survived", deaths, compacted)
	}
	t.Logf("%d deaths, %d compactions survived", deaths, compacted)
	c = w.start("")
	defer c.kill()
	prompt(c, "go on")
	page, err := c.client.Messages(ctx, s.ID, api.MessageQuery{Limit: 1})
	if err != nil || len(page.Data) != 1 {
		t.Fatal(err)
	}
	if a, ok := page.Data[0].(*session.Assistant); !ok || a.Error != nil || a.Open() {
		t.Errorf("the last prompt has no answer: %+v", page.Data[0])
	}
}
