package snapshot

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkCapture captures a repository of 10,000 files, beside what git status takes.
func BenchmarkCapture(b *testing.B) {
	git, err := exec.LookPath("git")
	if err != nil {
		b.Skip("git is missing")
	}
	root, home := b.TempDir(), b.TempDir()
	run := func(args ...string) {
		cmd := exec.Command(git, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for i := range 10_000 {
		name := filepath.Join(root, fmt.Sprint("dir", i%100), fmt.Sprint("file", i))
		if i < 100 {
			if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "content %d\n", i), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	run("init", "-q")
	run("add", ".")
	run("commit", "-qm", "one")
	w := Open(Options{
		Blobs: NewBlobs(home), Dir: filepath.Join(home, "tree"), Root: root, Git: git,
		Logger: slog.New(slog.DiscardHandler),
	})
	capture := func() string {
		tree, err := w.CaptureTree(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return tree
	}
	capture()
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			run("status", "--porcelain")
		}
	})
	b.Run("clean", func(b *testing.B) {
		for b.Loop() {
			capture()
		}
	})
	n := 0
	change := func() {
		n++
		content := fmt.Appendf(nil, "change %d\n", n)
		if err := os.WriteFile(filepath.Join(root, "dir1", "file1"), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("changed", func(b *testing.B) {
		for b.Loop() {
			change()
			capture()
		}
	})
	b.Run("compared", func(b *testing.B) {
		before := capture()
		for b.Loop() {
			change()
			after := capture()
			if _, _, err := w.Compare(b.Context(), before, after, 10); err != nil {
				b.Fatal(err)
			}
			before = after
		}
	})
}
