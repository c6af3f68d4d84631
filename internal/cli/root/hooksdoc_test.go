package root_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestDocumentedHooks: the examples of docs/hooks.md are those that the script hooks runs.
func TestDocumentedHooks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/hooks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "project/") || f.Name == "project/run-tests.sh" {
			continue
		}
		found++
		if !strings.Contains(string(page), "\n"+string(f.Data)+"```") {
			t.Errorf("docs/hooks.md does not have %s as the script has it", f.Name)
		}
	}
	if found != 3 {
		t.Errorf("the script has %d examples", found)
	}
}
