package agent

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestFamily(t *testing.T) {
	for id, want := range map[string]string{
		"gpt-4o": "reasoner", "o1-mini": "reasoner", "o3": "reasoner", "openai/gpt-4.1": "reasoner", "gpt-5.2": "gpt",
		"gpt-5-codex": "codex", "gpt-5.2-Codex-max": "codex",
		"gemini-3-pro": "gemini", "claude-sonnet-4": "claude", "anthropic.claude-3-5-sonnet-20241022-v2:0": "claude",
		"kimi-k2": "open", "trinity-large": "open",
		"openai/gpt-oss-120b": "open", "qwen3-coder": "open", "deepseek-chat": "open", "main": "", "": "",
	} {
		if got := FamilyOf(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestForModel(t *testing.T) {
	s := set(t, `{"agent": {"mine": {"prompt": "Mine."}, "plan": {"prompt": "Plan my way."}}}`, "")
	ref := session.ModelRef{ProviderID: "anthropic", ID: "claude-x"}
	for name, long := range map[string]bool{
		"build": true, "general": true, "plan": false, "mine": false,
		"explore": false,
	} {
		a, err := s.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		got := ForModel(a, ref, "claude-x")
		if !strings.HasSuffix(got, "You are the model anthropic/claude-x.") || strings.Contains(got, "\n") != long {
			t.Errorf("%s: %q", name, got)
		}
	}
	title, err := s.Get(Title)
	if err != nil || ForModel(title, ref, "claude-x") != "" {
		t.Error("the title agent has a model family's addition")
	}
}

// Every family has a text that is short enough for every request.
func TestFamiliesAreShort(t *testing.T) {
	for _, name := range []string{"reasoner", "codex", "gpt", "gemini", "claude", "open"} {
		raw, err := families.ReadFile("prompt/family/" + name + ".md")
		if lines := strings.Count(string(raw), "\n"); err != nil || lines < 3 || lines > 8 {
			t.Errorf("%s: %d lines, %v", name, lines, err)
		}
	}
}
