package inspect

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
)

// What a server sends reaches no terminal as codes, and does not change the lines.
func TestPrintHitsHostile(t *testing.T) {
	const hostile = "\x1b]0;title\x07\x1b[31mred\x1b[0m\u202ereversed\u009b1m\r\nnext\tline"
	var out, notes bytes.Buffer
	inv := cli.NewInvocation(nil, cli.Process{Stdout: &out, Stderr: &notes, Env: func(string) string { return "" }})
	searchCommand{inv}.printHits(api.SearchResult{Hits: []api.SearchHit{{
		SessionID: hostile, Title: hostile, MessageID: hostile, Kind: hostile, Tool: hostile, Failed: true,
		Snippet: api.Snippet{Text: hostile + "found" + hostile, Matches: [][2]int{{len(hostile), len(hostile) + 5}}},
	}, {SessionID: "ses_2", Kind: hostile}}})
	text := out.String()
	if n := strings.Count(text, "\n"); n != 4 {
		t.Errorf("%d lines, want 4", n)
	}
	for _, r := range strings.ReplaceAll(text, "\n", "") {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("the output has %U: %q", r, text)
			break
		}
	}
	if !strings.Contains(text, "found") || !strings.Contains(text, "ses_2") {
		t.Errorf("output %q", text)
	}
}
