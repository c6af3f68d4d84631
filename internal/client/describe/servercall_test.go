package describe

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// A request for a tool of an MCP server shows the arguments and what the server says of the tool, not its fingerprint.
func TestServerCall(t *testing.T) {
	for name, c := range map[string]struct {
		metadata       string
		title, summary string
		details        []string
		save           string
	}{
		"arguments": {
			`{"server":"fs","tool":"write","destructiveHint":true,"input":{"path":"a.sh","content":"rm -rf x\n\u001b[2J","n":3}}`,
			"build asks for fs_write of the MCP server fs, which says that it may destroy",
			`fs_write {"path":"a.sh","content":"rm -rf x\n\u001b[2J","n":3}`,
			[]string{"content: rm -rf x", "    \ufffd[2J", "n: 3", "path: a.sh"},
			"fs_write with any arguments, until fs describes it differently",
		},
		"a changed description": {
			`{"server":"fs","tool":"write","readOnlyHint":true,"input":{},"diff":"-old\n+new"}`,
			"build asks for fs_write of the MCP server fs, which says that it only reads", "fs_write {}",
			[]string{"-old", "+new"},
			"fs_write with any arguments, until fs describes it differently",
		},
		"no object": {
			`{"server":"fs","tool":"write","input":7}`,
			"build asks for fs_write of the MCP server fs", "fs_write 7",
			[]string{"7"},
			"fs_write with any arguments, until fs describes it differently",
		},
	} {
		a := session.PendingAsk{
			Agent: "build", Action: "fs_write", Resources: []string{"fs_write@12"}, Save: []string{"fs_write@12"},
			Metadata: jsontext.Value(c.metadata),
		}
		got := []any{AskTitle(a), AskSummary(a), AskDetails(a), DescribeSaved(a, a.Save)}
		if d := cmp.Diff([]any{c.title, c.summary, c.details, c.save}, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	long := session.PendingAsk{Metadata: jsontext.Value(
		`{"server":"fs","tool":"w","input":{"a":"` + strings.Repeat(`x\n`, 100) + `"}}`,
	)}
	if got := AskDetails(long); len(got) != maxPreviewLines+1 {
		t.Errorf("%d lines of arguments", len(got))
	}
}

// Beside the diff of a changed description stand the arguments of the call.
func TestArgumentsBesideDiff(t *testing.T) {
	a := session.PendingAsk{Metadata: jsontext.Value(
		`{"server":"fs","tool":"w","input":{"path":"a"},"diff":"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new"}`,
	)}
	if d := cmp.Diff([]string{"path: a"}, AskCommand(a)); d != "" {
		t.Error(d)
	}
}
