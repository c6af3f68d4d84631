package describe_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// The table of trees has a row for those that are not shown.
func TestWriteMoreTrees(t *testing.T) {
	s := api.Stats{
		Trees:     []api.TreeStats{{SessionID: "ses_a", SumStats: api.SumStats{Turns: 7}}},
		MoreTrees: &api.MoreTrees{Count: 12, SumStats: api.SumStats{Turns: 34}},
	}
	var out bytes.Buffer
	describe.WriteStats(terminal.NewStream(&out, func(string) string { return "" }), s, "", "tree")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "… 12 more ") || !strings.Contains(last, " 34 ") {
		t.Errorf("got\n%s", out.String())
	}
}
