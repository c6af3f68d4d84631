package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const chatHi = `{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1},"copilot_usage":{"total_nano_aiu":100000000000}}`

// Azure's deployments have addresses of their own where the configuration says so. What a vendor says that it charges
// is what a session has cost.
func TestDeploymentsOfAzure(t *testing.T) {
	v := newSearching(t, chatHi)
	home, mock := newHome(t)
	close(mock.released)
	write(
		t,
		filepath.Join(home, "config", "cairn.json"),
		fmt.Sprintf(`{"model": "azure/mine", "agent": {"title": {"disable": true}},
		"provider": {"azure": {"options": {"baseURL": "%s/openai?api-version=2024-10-21", "apiKey": "k", "useDeploymentBasedUrls": true}, "models": {"mine": {}}}}}`, v.URL),
	)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id := create(t, c, "t")
	if _, err := c.API.Prompt(t.Context(), id, say("hi")); err != nil {
		t.Fatal(err)
	}
	if err := c.API.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if v.path != "/openai/deployments/mine/chat/completions" || !strings.Contains(v.said[0], "Api-Key: k") ||
		strings.Contains(v.said[0], "useDeployment") {
		t.Errorf("%s\n%.1000s", v.path, v.said[0])
	}
	s, err := c.API.Session(t.Context(), id)
	if err != nil || s.Cost.String() != "1" {
		t.Errorf("it cost %v, %v", s.Cost, err)
	}
}
