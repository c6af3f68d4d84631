package embed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The programs of docs/embed.md build, and the one that runs cairn itself runs: without a key the built-in guide
// answers.
func TestDocumentedPrograms(t *testing.T) {
	source, err := os.ReadFile("../../docs/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, n := t.TempDir(), 0
	for block := range strings.SplitSeq(string(source), "```go\n") {
		code, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(code, "package main") {
			continue
		}
		n++
		file, binary := filepath.Join(dir, strconv.Itoa(n)+".go"), filepath.Join(dir, strconv.Itoa(n))
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, file).CombinedOutput(); err != nil {
			t.Fatalf("program %d: %v\n%s", n, err, out)
		}
		if !strings.Contains(code, "embed.Open") {
			continue
		}
		run := exec.CommandContext(t.Context(), binary)
		run.Dir, run.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "CAIRN_DISABLE_KEYRING=1", "CAIRN_DISABLE_MODELS_FETCH=1"}
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "guide") {
			t.Errorf("program %d: %v\n%s", n, err, out)
		}
	}
	if n != 2 {
		t.Errorf("found %d programs", n)
	}
}
