package root

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// newManCommand returns the command that prints the manual page.
func newManCommand(inv *cli.Invocation) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page, for man", Args: cobra.NoArgs,
		Example: "  cairn man | man -l -\n  cairn man > ~/.local/share/man/man1/cairn.1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			inv.Out.Printf("%s", formatManPage(cmd.Root()))
			return inv.Out.Err
		},
	}
}

// formatManPage returns the page of all commands, in roff with the macros of man(7).
func formatManPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH CAIRN 1 \"\" \"cairn %s\"\n", escapeRoff(cli.ReadBuildInfo().String()))
	fmt.Fprintf(&b, ".SH NAME\ncairn \\- %s\n", escapeRoff(root.Short))
	b.WriteString(".SH SYNOPSIS\n.B cairn\n.I COMMAND\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s.SH COMMANDS\n", formatRoff(root.Long))
	writeManCommands(&b, root)
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s", formatRoff(cli.ExitCodesHelp()))
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n%s", formatRoff(environmentHelp))
	return b.String()
}

// writeManCommands writes what --help prints of the commands below c.
func writeManCommands(b *strings.Builder, c *cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" {
			continue
		}
		if sub.Runnable() {
			text := sub.Long
			if text == "" {
				text = sub.Short
			}
			fmt.Fprintf(b, ".SS \"%s\"\n%s", escapeRoff(sub.UseLine()), formatRoff(text))
			if sub.HasExample() {
				fmt.Fprintf(b, ".PP\nExamples:\n%s", formatRoff(sub.Example))
			}
			if flags := sub.LocalFlags().FlagUsages(); flags != "" {
				fmt.Fprintf(b, ".PP\nFlags:\n%s", formatRoff(flags))
			}
		}
		writeManCommands(b, sub)
	}
}

// formatRoff returns a text: indented lines as they are, others as paragraphs.
func formatRoff(text string) string {
	var b strings.Builder
	block := false
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if indented != block && line != "" {
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n.PP\n"}[indented])
			block = indented
		}
		switch {
		case line == "" && block:
			b.WriteString("\n")
		case line == "":
			b.WriteString(".PP\n")
		default:
			b.WriteString(escapeRoff(line) + "\n")
		}
	}
	if block {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// escapeRoff makes a line text: no escapes, no request at its beginning, and hyphens that can be copied.
func escapeRoff(line string) string {
	var b strings.Builder
	for i, r := range line {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
