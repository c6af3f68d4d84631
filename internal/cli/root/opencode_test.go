package root

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// TestOpenCodeFlags: each command that programs start of OpenCode takes the flags that OpenCode's --help lists.
func TestOpenCodeFlags(t *testing.T) {
	recorded, err := os.ReadFile("testdata/opencode/commands.txt")
	if err != nil {
		t.Fatalf("read the recorded commands: %v", err)
	}
	n := 0
	for l := range strings.Lines(string(recorded)) {
		words := strings.Fields(l)
		if words[0] == "#" {
			continue
		}
		n++
		root := program{
			cli.NewInvocation(nil, cli.Process{Name: cli.OpenCode, Env: func(string) string { return "" }}),
		}.newRoot()
		end := slices.IndexFunc(
			words,
			func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "[<") },
		)
		if end < 0 {
			end = len(words)
		}
		path := words[1:end]
		cmd, rest, err := root.Find(path)
		if err != nil || len(rest) > 0 {
			t.Errorf("command %q not found: %v", strings.Join(path, " "), err)
			continue
		}
		for _, w := range words[end:] {
			if strings.HasPrefix(w, "-") {
				checkFlag(t, cmd, w)
			}
		}
	}
	if n < 5 {
		t.Errorf("got %d recorded commands, want at least 5", n)
	}
}

// checkFlag looks for a flag by each of its names, -c/--continue.
func checkFlag(t *testing.T, cmd *cobra.Command, names string) {
	t.Helper()
	short := ""
	for name := range strings.SplitSeq(names, "/") {
		if long, ok := strings.CutPrefix(name, "--"); !ok {
			short = strings.TrimPrefix(name, "-")
		} else if f := cmd.Flag(long); f == nil {
			t.Errorf("%s has no flag %s", cmd.CommandPath(), name)
		} else if short != "" && cmd.Flags().ShorthandLookup(short) == nil {
			t.Errorf("%s has no flag -%s", cmd.CommandPath(), short)
		}
	}
}
