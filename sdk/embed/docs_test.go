package embed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is around the parts of docs/embed.md that are no program: the loop is a function, and the test is one of the
// program before it.
const (
	beforeLoop = `package main

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/sdk"
)

func main() { _ = show(context.Background(), nil, nil) }

func show(ctx context.Context, client *sdk.Client, session *sdk.Session) error {
`
	afterLoop  = "return nil\n}\n"
	beforeTest = `package main

import (
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

`
)

// The code of docs/embed.md builds. The program that runs cairn itself runs, since without a key the built-in guide
// answers, and the test of it passes.
func TestDocumentedPrograms(t *testing.T) {
	source, err := os.ReadFile("../../docs/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(source), -1)
	files := []struct{ name, before, after string }{
		{name: "client.go"}, {"loop.go", beforeLoop, afterLoop}, {name: "shop.go"}, {"shop_test.go", beforeTest, ""},
	}
	if len(blocks) != len(files) {
		t.Fatalf("the document has %d pieces of code, the test knows %d", len(blocks), len(files))
	}
	dir := t.TempDir()
	for i, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.before+blocks[i][1]+f.after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shop := filepath.Join(dir, "shop")
	for _, args := range [][]string{
		{"build", "-o", filepath.Join(dir, "client"), filepath.Join(dir, "client.go")},
		{"build", "-o", filepath.Join(dir, "loop"), filepath.Join(dir, "loop.go")},
		{"build", "-o", shop, shop + ".go"},
		{"test", "-run", "^TestAssistant$", shop + ".go", shop + "_test.go"},
	} {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run := exec.CommandContext(t.Context(), shop)
	run.Dir, run.Env = dir, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir,
		"CAIRN_DISABLE_KEYRING=1", "CAIRN_DISABLE_MODELS_FETCH=1",
	}
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "guide") {
		t.Errorf("the program: %v\n%s", err, out)
	}
}
