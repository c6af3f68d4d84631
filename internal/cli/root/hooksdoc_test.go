package root_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestDocumentedHooks: the examples of docs/hooks.md are those that the script hooks runs.
func TestDocumentedHooks(t *testing.T) {
	compareExamples(t, "hooks", "project/cairn.json", "project/.cairn/hooks/guard.sh", "project/.cairn/hooks/tests.sh")
}

// TestDocumentedPlugins: those of docs/plugins.md are those that the script plugins runs.
func TestDocumentedPlugins(t *testing.T) {
	compareExamples(t, "plugins", "project/.opencode/plugin/guard.ts", "project/.opencode/tool/count.ts")
}

// compareExamples compares the files of a script with those of the page of its name.
func compareExamples(t *testing.T, name string, files ...string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range archive.Files {
		if !slices.Contains(files, f.Name) {
			continue
		}
		found++
		if !strings.Contains(string(page), "\n"+string(f.Data)+"```") {
			t.Errorf("docs/%s.md does not have %s as the script has it", name, f.Name)
		}
	}
	if found != len(files) {
		t.Errorf("the script has %d of the examples", found)
	}
}
