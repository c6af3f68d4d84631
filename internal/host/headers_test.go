package host

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/api"
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
	for _, want := range []string{"User-Agent: cairn/test\r\n", "X-Session-Affinity: " + id + "\r\n", "X-Session-Id: " + id + "\r\n"} {
		if !strings.Contains(v.said[0], want) {
			t.Errorf("no %q in\n%s", want, v.said[0])
		}
	}
	if strings.Contains(v.said[0], "X-Parent-Session-Id") {
		t.Errorf("a session without a parent names one:\n%s", v.said[0])
	}
}
