package undo

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestFormatPatch checks that only a terminal gets colours, that it gets no control characters of file contents, and
// what replaces a patch that was left out.
func TestFormatPatch(t *testing.T) {
	var out strings.Builder
	inv := cli.NewInvocation(nil, cli.Process{Stdout: &out, Env: func(string) string { return "" }})
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- old\n+\x1b[31mnew\n"
	file := session.ChangedFile{Path: "x", Status: "modified", Additions: 1, Deletions: 1, Patch: patch}
	large := session.ChangedFile{Path: "y\x1b[2J", Status: "added"}
	if got := (commands{inv}).formatPatch(file); got != patch {
		t.Errorf("a file or a pipe gets %q", got)
	}
	inv.Out.Terminal, inv.Out.Color = true, true
	want := "\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n" +
		"\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n same\n\x1b[31m--- old\x1b[0m\n\x1b[32m+\ufffd[31mnew\x1b[0m\n"
	if got := (commands{inv}).formatPatch(file); got != want {
		t.Errorf("a terminal gets %q", got)
	}
	if got := (commands{inv}).formatPatch(large); got != "\x1b[1my\ufffd[2J\x1b[0m: added; too large to be shown\n" {
		t.Errorf("of a large file: %q", got)
	}
}
