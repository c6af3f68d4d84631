package mention

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestFindFiles(t *testing.T) {
	offered := map[string]bool{"a.go": true, "a.go.bak": true, "my file.txt": true, "my": true, "/tmp/x y.png": true, "mcp:s:x://y": true}
	for text, want := range map[string]string{
		"see @a.go":                   "file:///w/a.go",
		"see @a.go, and @a.go.bak":    "file:///w/a.go file:///w/a.go.bak",
		"@my file.txt has it":         "file:///w/my%20file.txt",
		"@my files":                   "file:///w/my",
		"look at\n@/tmp/x y.png":      "file:///tmp/x%20y.png",
		"mail me@a.go, @b.go, @a.gox": "",
		"@a.go @a.go":                 "file:///w/a.go file:///w/a.go",
		"ä@a.go":                      "",
		"see @a.go#10-20, please":     "file:///w/a.go?start=10&end=20",
		"see @a.go#7.":                "file:///w/a.go?start=7&end=7",
		"@my file.txt#3- on":          "file:///w/my%20file.txt?start=3",
		"@a.go#x @a.go#0":             "",
		"as @mcp:s:x://y, or not":     "mcp:s:x://y",
		"as @mcp:s:x://z":             "",
	} {
		var got []string
		for _, f := range FindFiles(text, offered, "/w") {
			got = append(got, f.URI)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

func TestListResources(t *testing.T) {
	all := []api.MCPResource{
		{Server: "docs", Name: "The Guide", URI: "doc://guide"},
		{Server: "docs", Name: "x", URI: "doc://with blank"},
		{Server: "other", Name: "Rules\x1b[2J", URI: "r:1"},
	}
	for text, want := range map[string]string{
		"": "@mcp:docs:doc://guide |@mcp:other:r:1 ", "gui": "@mcp:docs:doc://guide ", "RULES": "@mcp:other:r:1 ",
		"mcp:docs:": "@mcp:docs:doc://guide ", "nothing": "",
	} {
		var ids []string
		for _, it := range ListResources(all, text) {
			ids = append(ids, it.ID)
			if strings.Contains(it.Label, "\x1b") {
				t.Errorf("label %q", it.Label)
			}
		}
		if got := strings.Join(ids, "|"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestFindAgents(t *testing.T) {
	all := []session.Agent{{ID: "explore"}}
	if got := FindAgents("let @explore and @other look, not x@explore", all); len(got) != 1 || got[0].Name != "explore" {
		t.Error(got)
	}
}
