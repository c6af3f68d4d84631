package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// What is edited while a session is there holds from its next prompt on: agents, commands, the configuration.
func TestEditsHoldAtTheNextBoundary(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	agent, config := filepath.Join(home, "project", ".cairn", "agent", "build.md"), filepath.Join(
		home,
		"config",
		"cairn.jsonc",
	)
	write(t, agent, "You are the first.")
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	s, err := c.API.Create(t.Context(), api.CreateSession{Title: "Edits"})
	if err != nil {
		t.Fatal(err)
	}
	heard := func() string {
		if _, err := c.API.Prompt(t.Context(), s.ID, say("go")); err != nil {
			t.Fatal(err)
		}
		if err := c.API.Wait(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.said[len(v.said)-1]
	}
	for _, step := range []struct{ file, text, want string }{
		{agent, "You are the first.", "You are the first."},
		{agent, "You are the second, and longer.", "You are the second, and longer."},
		{config, `{"provider": {"mock": {"options": {"headers": {"X-Team": "blue"}}}}}`, "X-Team: blue"},
		{
			config,
			`{"provider": {"mock": {"options": {"headers": {"X-Team": "green"}}}}, "agent": {"build": {"temperature": 0.25}}}`,
			"X-Team: green",
		},
		{filepath.Join(home, "project", "AGENTS.md"), "Speak of badgers.", "Speak of badgers."},
	} {
		write(t, step.file, step.text)
		if said := heard(); !strings.Contains(said, step.want) {
			t.Errorf("after %s nothing says %q:\n%s", filepath.Base(step.file), step.want, said)
		}
	}
	if said := heard(); !strings.Contains(said, `"temperature":0.25`) ||
		!strings.Contains(said, `You are the second, and longer.\n\nYou are the model mock/main.`) {
		t.Errorf("the agent's options, or the model's name, are lost:\n%s", said)
	}
	write(t, filepath.Join(home, "config", "command", "hi.md"), "Hello $1.")
	if x, err := c.API.Expand(t.Context(), api.ExpandRequest{Command: "hi", Arguments: "you"}); err != nil ||
		x.Prompt.Text != "Hello you." {
		t.Errorf("a new command: %+v %v", x, err)
	}
}
