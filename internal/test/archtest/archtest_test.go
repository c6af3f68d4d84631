package archtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHouse checks the tree against every rule.
func TestHouse(t *testing.T) {
	tree, err := Load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Packages["test/archtest"] == nil {
		t.Fatal("the tree does not contain this package; Load looks in the wrong place")
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Error(f)
			}
		})
	}
}

// TestReport prints what is for readers to judge: sizes of packages and types, and the imports within the engine.
func TestReport(t *testing.T) {
	tree, err := Load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	engine := describeEngine(tree)
	if !strings.Contains(engine, "engine: ") {
		t.Errorf("the engine has no packages: %s", engine)
	}
	t.Logf("%s\nimports within the engine:\n%s", describeSizes(tree), engine)
}

// TestPinnedTogether: the SQLite engine is translated against one exact libc, and any other is a lottery. Something
// else that requires a newer libc would raise it silently.
func TestPinnedTogether(t *testing.T) {
	run := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"list", "-m", "-f"}, args...)...)
		cmd.Dir = "../../.."
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	mod := run("{{.GoMod}}", "modernc.org/sqlite")
	engine, err := os.ReadFile(mod)
	if err != nil {
		t.Skipf("the engine is not in the module cache: %v", err)
	}
	if ours := run("{{.Path}} {{.Version}}", "modernc.org/libc"); !strings.Contains(string(engine), "\t"+ours+"\n") {
		t.Errorf("go.mod selects %s, but modernc.org/sqlite names another: see %s", ours, mod)
	}
}

// TestLinked looks at what the binary links. It needs the module cache, not the network.
func TestLinked(t *testing.T) {
	if _, err := os.Stat("../../../main.go"); err != nil {
		t.Skip("there is no main.go yet")
	}
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Dir = "../../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, f := range checkLinked(strings.Fields(string(out))) {
		t.Error(f)
	}
}
