package describe

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

func TestCacheHit(t *testing.T) {
	for want, tokens := range map[string]session.Tokens{
		"":    {Input: 10},
		"75%": {Input: 20, Output: 1000, Cache: session.CacheUsage{Read: 75, Write: 5}},
		"99%": {Input: 1, Cache: session.CacheUsage{Read: 999}},
	} {
		if got := FormatCacheHit(tokens); got != want {
			t.Errorf("%+v: %q, want %q", tokens, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ tool, input, want string }{
		{"read", `{"filePath":"a/b.go","offset":3}`, "read a/b.go"},
		{"apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch"}`, "apply_patch a.go, b.go, c"},
		{"grep", `{"pattern":"func","path":"internal"}`, "grep func in internal"},
		{"glob", `{"pattern":"**/*.go"}`, "glob **/*.go"},
		{"list", `{}`, "list"},
		{"bash", `{"command":"echo \u001b[31m"}`, "bash echo \ufffd[31m"},
		{"odd", `{"x":1}`, `odd {"x":1}`},
		{"odd", `{"command":7}`, `odd {"command":7}`},
		{"odd", `nonsense`, "odd"},
		{"odd", ``, "odd"},
	} {
		if got := DescribeCall(tt.tool, jsontext.Value(tt.input)); got != tt.want {
			t.Errorf("describe(%s, %s) = %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := terminal.FormatCount(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
	for want, tokens := range map[string]session.Tokens{
		"$0": {Input: 5}, "unknown": {Input: 5, Unpriced: 5},
	} {
		if got := FormatCost(0, tokens); got != want {
			t.Errorf("FormatCost(0, %+v) = %s, want %s", tokens, got, want)
		}
	}
	if got := FormatCost(session.Dollar, session.Tokens{Input: 5, Unpriced: 2}); got != "$1.00 + unknown" {
		t.Errorf("a cost that is known in part: %s", got)
	}
	for in, want := range map[string]string{
		"0": "0", "0.00001": "<0.0001", "0.00006": "0.0001", "0.01": "0.0100", "0.12345": "0.1235", "1": "1.00",
		"12.345": "12.35", "1234.5": "1234.50",
	} {
		u, err := session.ParseUSD(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatUSD(u); got != want {
			t.Errorf("money(%s) = %s, want %s", in, got, want)
		}
	}
}
