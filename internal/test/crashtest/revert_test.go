//go:build unix

package crashtest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestKillRevert kills the server at the points of a revert, of its reversal and of a fork. The next one completes what
// was begun: a revert that is taken back gives the files and messages of before, and a fork exists whole or not at all.
func TestKillRevert(t *testing.T) {
	w := newWorld(t, 0)
	ctx := t.Context()
	c := w.start("")
	s, err := c.client.Create(ctx, api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		p := api.PromptRequest{Prompt: &session.Prompt{Text: fmt.Sprintf("do tok-%d", i)}}
		if _, err := c.client.Prompt(ctx, s.ID, p); err != nil {
			t.Fatal(err)
		}
		if err := c.client.Wait(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		content, err := os.ReadFile(w.effects)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(content)
	}
	ids := func(c *child, id session.ID) (out []session.MessageID) {
		page, err := c.client.Messages(ctx, id, api.MessageQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Data {
			out = append(out, m.Meta().ID)
		}
		return out
	}
	whole, messages := read(), ids(c, s.ID)
	c.kill()
	points := []fault.Name{
		fault.RevertPlanned, fault.RevertRestored, fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer,
	}
	deaths := 0
	for _, point := range points {
		for nth := 1; nth <= 3; nth++ {
			if c = w.start(fmt.Sprintf("%s#%d=kill", point, nth)); c == nil {
				deaths++
				continue
			}
			reverts := api.Reverts{Client: c.client}
			_, err := reverts.StageRevert(ctx, s.ID, api.RevertRequest{Before: true})
			if err == nil {
				err = reverts.ClearRevert(ctx, s.ID)
			}
			if err == nil {
				_, err = api.Forks{Client: c.client}.ForkSession(ctx, s.ID, api.ForkRequest{})
			}
			if err != nil {
				deaths++
			}
			c.kill()
			c = w.start("")
			if err := c.client.Wait(ctx, s.ID); err != nil { // it completes what was begun
				t.Fatal(err)
			}
			if err := (api.Reverts{Client: c.client}).ClearRevert(ctx, s.ID); err != nil {
				t.Errorf("%s#%d: clear: %v", point, nth, err)
			}
			if got := read(); got != whole {
				t.Errorf("%s#%d: the file is %q, was %q", point, nth, got, whole)
			}
			if got := ids(c, s.ID); !slices.Equal(got, messages) {
				t.Errorf("%s#%d: the messages are %v", point, nth, got)
			}
			page, err := c.client.Sessions(ctx, api.SessionQuery{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, forked := range page.Data {
				if got := ids(c, forked.ID); len(got) != len(messages) {
					t.Errorf("%s#%d: session %s has %d messages of %d", point, nth, forked.ID, len(got), len(messages))
				}
			}
			c.kill()
		}
	}
	if deaths < len(points) {
		t.Errorf("%d deaths", deaths)
	}
}

// TestKillAfterCommand kills the server when a command has ended and before its outcome is stored. What the command
// changed is stored by then, so that an undo restores it.
func TestKillAfterCommand(t *testing.T) {
	w := newWorld(t, 0)
	ctx := t.Context()
	c := w.start(string(fault.ToolPreSettle) + "#1=kill")
	s, err := c.client.Create(ctx, api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.client.Prompt(ctx, s.ID, api.PromptRequest{Prompt: &session.Prompt{Text: "do tok-0"}})
	<-c.ended
	if content, err := os.ReadFile(w.effects); err != nil || len(content) == 0 {
		t.Fatalf("the command has not run: %q, %v", content, err)
	}
	w.command("undo", string(s.ID))
	if content, err := os.ReadFile(w.effects); err == nil && len(content) > 0 {
		t.Errorf("after the undo the file is %q", content)
	}
}
