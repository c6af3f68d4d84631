package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestTimeOfCalls: the time of a call is that of its work, without its waits for a person.
func TestTimeOfCalls(t *testing.T) {
	start := time.UnixMilli(1_000_000)
	call := func(completed, waited int64) *session.Tool {
		c := &session.Tool{
			Name: "bash", PartID: "prt_1", Time: session.ToolTime{Created: 1_000_000, Ran: 1_000_000, Completed: completed, Waited: waited},
			State: session.ToolState{Status: session.ToolRunning, Input: jsontext.Value(`{"command":"make"}`)},
		}
		if completed > 0 {
			c.State.Status = session.ToolCompleted
		}
		return c
	}
	for _, c := range []struct {
		call   *session.Tool
		asking []session.PartID
		want   string
	}{
		{call(0, 0), nil, "→ bash make (5s)"},
		{call(0, 0), []session.PartID{"prt_1"}, "→ bash make waits for you"},
		{call(1_064_000, 60_000), nil, "✓ bash make (4s)"},
		{call(1_060_200, 60_000), nil, "✓ bash make"},
	} {
		p := painter{width: 80, now: start.Add(5 * time.Second), asking: c.asking}
		if got := strings.TrimSpace(ansi.Strip(p.renderTool(c.call, false)[0])); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
