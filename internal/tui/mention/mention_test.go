package mention

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestFindFiles(t *testing.T) {
	offered := map[string]bool{"a.go": true, "a.go.bak": true, "my file.txt": true, "my": true, "/tmp/x y.png": true}
	for text, want := range map[string]string{
		"see @a.go":                   "file:///w/a.go",
		"see @a.go, and @a.go.bak":    "file:///w/a.go file:///w/a.go.bak",
		"@my file.txt has it":         "file:///w/my%20file.txt",
		"@my files":                   "file:///w/my",
		"look at\n@/tmp/x y.png":      "file:///tmp/x%20y.png",
		"mail me@a.go, @b.go, @a.gox": "",
		"@a.go @a.go":                 "file:///w/a.go file:///w/a.go",
		"ä@a.go":                      "",
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

func TestFindAgents(t *testing.T) {
	all := []session.Agent{{ID: "explore"}}
	if got := FindAgents("let @explore and @other look, not x@explore", all); len(got) != 1 || got[0].Name != "explore" {
		t.Error(got)
	}
}
