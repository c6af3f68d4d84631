package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// A request says who asks, and whose turn it is; that of a child also for whom.
func TestRequestsSayWhoAsks(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	c, err := Host{}.Open(t.Context(), optionsOf(home))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	s, err := c.API.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.API.Prompt(t.Context(), s.ID, say("go")); err != nil {
		t.Fatal(err)
	}
	if err := c.API.Wait(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	id := string(s.ID)
	for _, want := range []string{
		"User-Agent: cairn/test\r\n", "X-Session-Affinity: " + id + "\r\n",
		"X-Session-Id: " + id + "\r\n",
	} {
		if !strings.Contains(v.said[0], want) {
			t.Errorf("no %q in\n%s", want, v.said[0])
		}
	}
	if strings.Contains(v.said[0], "X-Parent-Session-Id") {
		t.Errorf("a session without a parent names one:\n%s", v.said[0])
	}
}

// Unknown options of a provider go into the body of each request, known ones where they belong; options that say how to
// reach the provider are not sent.
func TestProviderOptionsAreSent(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	write(t, filepath.Join(home, "config", "cairn.json"), fmt.Sprintf(`{
  "model": "mock/main",
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": %q, "apiKey": "k", "enable_search": true, "region": "eu", "accessToken": "`+hostSecret+`", "temperature": 0.25, "reasoningEffort": "low"},
    "models": {"main": {"name": "Main", "options": {"temperature": 0.5}}}}}
}`, v.URL))
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id := create(t, c, "t")
	prompt(t, c, v, id)
	answer(t, c, id)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, want := range []string{`"enable_search":true`, `"temperature":0.5`, `"reasoning_effort":"low"`} {
		if !strings.Contains(v.said[0], want) {
			t.Errorf("no %s in\n%s", want, v.said[0])
		}
	}
	models, err := c.API.Models(t.Context())
	providers, perr := c.API.Providers(t.Context())
	if shown := fmt.Sprint(models, providers); err != nil || perr != nil || !strings.Contains(shown, "enable_search") ||
		strings.Contains(shown, hostSecret) {
		t.Errorf("an option whose name tells of a secret is shown, or another one is not: %v %v %s", err, perr, shown)
	}
	if strings.Contains(v.said[0], `"region"`) {
		t.Errorf("a setting is sent:\n%s", v.said[0])
	}
}
