package builtin_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forest is a tree of 100 000 files: 500 directories of 200 files of 20 lines, some of them ignored.
func forest(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "forest")
	rnd := rand.New(rand.NewPCG(1, 2))
	endings := []string{"go", "ts", "py", "log"}
	for d := range 500 {
		sub := filepath.Join(dir, fmt.Sprintf("a%02d", d/25), fmt.Sprintf("b%02d", d%25))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 200 {
			var text strings.Builder
			for range 20 {
				for range 8 {
					fmt.Fprintf(&text, "w%d ", rnd.IntN(2000))
				}
				text.WriteString("\n")
			}
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%03d.%s", f, endings[f%4])), []byte(text.String()), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkForest searches 100 000 files with the tools, and with ripgrep where it is installed. No pattern has a hundred
// matches, so both look at everything.
func BenchmarkForest(b *testing.B) {
	dir := forest(b)
	w := newBench(b, func(c *configOf) { c.Directory, c.Worktree = dir, dir })
	w.dir = dir
	for _, c := range []struct{ name, pattern string }{
		{"literal", `w1234 w77 `},
		{"none", `nosuchtext`},
		{"fold", `(?i)W777 w41\b`},
		{"alternatives", `(foo|bar|baz)\w+`},
		{"classes", `\bw\d+x\b`},
		{"short", `\d+ q`},
	} {
		b.Run(c.name+"/cairn", func(b *testing.B) {
			for b.Loop() {
				if s := w.call("grep", in{"pattern": c.pattern}); s.Error != nil || strings.Contains(says(s), "there are more") {
					b.Fatal(says(s))
				}
			}
		})
		b.Run(c.name+"/candidates", func(b *testing.B) { candidates(b, w, c.pattern) })
		b.Run(c.name+"/rg", func(b *testing.B) { ripgrep(b, dir, "-n", "--hidden", "-e", c.pattern, ".") })
	}
	b.Run("files/cairn", func(b *testing.B) {
		for b.Loop() {
			if s := w.call("glob", in{"pattern": "**/*7.go"}); s.Error != nil {
				b.Fatal(says(s))
			}
		}
	})
	b.Run("files/rg", func(b *testing.B) { ripgrep(b, dir, "--files", "-g", "*7.go", ".") })
}

// candidates measures the search that is not there (docs/adr/0010): our walk, which says what may be searched, and ripgrep
// to name those of its files in which there is something. To open and search these would come on top.
func candidates(b *testing.B, w *bench, pattern string) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("rg is not installed")
	}
	var names []string
	err = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasSuffix(path, ".log") {
			names = append(names, strings.TrimPrefix(path, w.dir+"/"))
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if s := w.call("glob", in{"pattern": "**/*.none"}); s.Error != nil {
			b.Fatal(says(s))
		}
		for part := range slices.Chunk(names, 40_000) { // an argument list holds two megabytes
			cmd := exec.Command(rg, append([]string{"--no-config", "--text", "-l0", "-e", pattern, "--"}, part...)...)
			cmd.Dir = w.dir
			if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
				b.Fatal(err)
			}
		}
	}
}

// ripgrep measures rg. It exits with 1 when it finds nothing.
func ripgrep(b *testing.B, dir string, args ...string) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("rg is not installed")
	}
	args = append([]string{"--no-config", "--no-require-git"}, args...)
	for b.Loop() {
		cmd := exec.Command(rg, args...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			b.Fatal(err)
		}
	}
}
