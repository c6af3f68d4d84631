//go:build unix

package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// makeForest makes a tree of 100 000 files: 500 directories of 200 files of 20 lines, some of them ignored.
func makeForest(b *testing.B) string {
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
			if err := os.WriteFile(
				filepath.Join(sub, fmt.Sprintf("f%03d.%s", f, endings[f%4])), []byte(text.String()), 0o644,
			); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkForest searches 100 000 files with the tools, without and with ripgrep installed, and with ripgrep itself.
// No pattern has 100 matches, so every search reads all files.
func BenchmarkForest(b *testing.B) {
	dir := makeForest(b)
	w := tooltest.New(b, func(c *tooltest.Config) { c.SetPaths(workpath.Resolver{Directory: dir, Worktree: dir}) })
	w.Dir = dir
	for _, c := range []struct{ name, pattern string }{
		{"literal", `w1234 w77 `},
		{"none", `nosuchtext`},
		{"fold", `(?i)W777 w41\b`},
		{"alternatives", `(foo|bar|baz)\w+`},
		{"classes", `\bw\d+x\b`},
		{"short", `\d+ q`},
	} {
		compareSearches(b, w, c.name, c.pattern)
	}
	b.Run("files/cairn", func(b *testing.B) {
		for b.Loop() {
			if s := w.Call("glob", tooltest.Input{"pattern": "**/*7.go"}); s.Error != nil {
				b.Fatal(tooltest.TextOf(s))
			}
		}
	})
	b.Run("files/rg", func(b *testing.B) { benchRipgrep(b, dir, "--files", "-g", "*7.go", ".") })
}

// BenchmarkLargeFiles searches a hundred files of 900 kB.
func BenchmarkLargeFiles(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	rnd := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for text.Len() < 900_000 {
		fmt.Fprintf(&text, "w%d w%d w%d\n", rnd.IntN(2000), rnd.IntN(2000), rnd.IntN(2000))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(text.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	w := tooltest.New(b, func(c *tooltest.Config) { c.SetPaths(workpath.Resolver{Directory: dir, Worktree: dir}) })
	w.Dir = dir
	for _, c := range []struct{ name, pattern string }{
		{"literal", `w1234 w77 w3000`},
		{"fold", `(?i)W777 w4111`},
		{"alternatives", `(Query|Parser|Walker)\w*\(`},
		{"classes", `\bw\d+x\b`},
	} {
		compareSearches(b, w, c.name, c.pattern)
	}
}

// compareSearches measures a search without ripgrep installed, one with it, and ripgrep's own.
func compareSearches(b *testing.B, w *tooltest.Bench, name, pattern string) {
	for who, path := range map[string]string{"cairn": b.TempDir(), "with-rg": os.Getenv("PATH")} {
		b.Run(name+"/"+who, func(b *testing.B) {
			b.Setenv("PATH", path)
			spent := processorTime(b)
			for b.Loop() {
				if s := w.Call("grep", tooltest.Input{"pattern": pattern}); s.Error != nil ||
					strings.Contains(tooltest.TextOf(s), "there are more") {
					b.Fatal(tooltest.TextOf(s))
				}
			}
			b.ReportMetric(float64((processorTime(b)-spent).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
	b.Run(name+"/rg", func(b *testing.B) { benchRipgrep(b, w.Dir, "-n", "--hidden", "-e", pattern, ".") })
}

// processorTime returns the processor time of this process and of the children that it waited for.
func processorTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}

// benchRipgrep measures rg. It exits with 1 if it finds nothing.
func benchRipgrep(b *testing.B, dir string, args ...string) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("rg is not installed")
	}
	args = append([]string{"--no-config", "--no-require-git"}, args...)
	spent := processorTime(b)
	for b.Loop() {
		cmd := exec.Command(rg, args...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-spent).Milliseconds())/float64(b.N), "cpu-ms/op")
}
