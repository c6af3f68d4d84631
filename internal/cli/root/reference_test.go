package root

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

var update = flag.Bool("update", false, "write docs/cli.md")

// TestReference: docs/cli.md is the help of every command (go test ./internal/cli/root -run TestReference -update).
func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "cli.md")
	a := cli.NewInvocation(nil, cli.Process{Env: func(string) string { return "" }})
	root := program{a}.newRoot()
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Commands\n\nWhat `--help` prints. The [manual](manual.md) describes whole tasks.\n")
	writeReference(&b, root)
	fmt.Fprintf(
		&b,
		"\n## Exit codes\n\n%s\n## Environment\n\n%s",
		indentLines(cli.ExitCodesHelp()),
		indentLines(environmentHelp),
	)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal("write the reference:", err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal("read the reference:", err)
	}
	if d := cmp.Diff(string(have), b.String()); d != "" {
		t.Errorf(
			"docs/cli.md is not current; run go test ./internal/cli/root -run TestReference -update (-file +help):\n%s",
			d,
		)
	}
}

// writeReference writes the sections of the command and of those below it.
func writeReference(b *strings.Builder, c *cobra.Command) {
	if c.Runnable() && c.Name() != "help" && (!c.HasParent() || c.Parent().Name() != "completion") {
		text := c.Long
		if text == "" {
			text = c.Short
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n    %s\n", c.CommandPath(), indentLists(text), c.UseLine())
		if c.HasExample() {
			fmt.Fprintf(b, "\nExamples:\n\n%s", indentLines(c.Example+"\n"))
		}
		if flags := c.LocalFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(b, "\nFlags:\n\n%s", indentLines(flags))
		}
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			writeReference(b, sub)
		}
	}
}

// indentLists makes lines that begin with blanks a code block.
func indentLists(text string) string {
	var b strings.Builder
	block := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if indented := strings.HasPrefix(line, " "); indented != block {
			block = indented
			b.WriteString("\n")
		}
		if block && strings.TrimSpace(line) != "" {
			line = "  " + line
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}

// indentLines indents the lines by at least four columns, as a code block needs.
func indentLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "":
			b.WriteString("\n")
		default:
			b.WriteString("    " + strings.TrimPrefix(line, "  "))
		}
	}
	return b.String()
}
