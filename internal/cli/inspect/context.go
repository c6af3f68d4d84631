package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// contextCommands are `cairn context …`.
type contextCommands struct{ inv *cli.Invocation }

// contextCommand returns the command that shows the next request of a session. The server builds the request and sends
// nothing.
func (g contextCommands) contextCommand() *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use: "context [SESSION]", Short: "Show the next request of a session by its sources",
		Long: "Show the request that the session's next turn would send, by its sources: tokens, bytes,\n" +
			"and how much of each the last request began with, so that the provider's cache applies.\n" +
			"Nothing is sent. Tokens are estimated from what providers reported. Without SESSION it is\n" +
			"the newest session of this directory.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn context\n  cairn context last --full\n  cairn context ses_… --json",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			r, err := api.Contexts{Client: c}.NextRequest(ctx, s.ID, full)
			if err != nil {
				return err
			}
			// The request may contain secrets that tools printed: mask them before anything is shown.
			if err := g.maskSecrets(ctx, r.Request); err != nil {
				return err
			}
			return cli.PrintResult(g.inv, r, func(r api.ContextRequest) { g.printRequest(s, r) })
		}),
	}
	cmd.Flags().BoolVar(&full, "full", false, "print the texts of the request, without secrets")
	cmd.AddCommand(g.explainCommand())
	return g.inv.AddJSONFlag(cmd)
}

// maskSecrets removes the secrets that this computer stores from the texts.
func (g contextCommands) maskSecrets(ctx context.Context, t *api.ContextText) error {
	if t == nil {
		return nil
	}
	known, err := g.inv.CollectSecrets(ctx)
	if err != nil {
		return err
	}
	mask := func(s *string) { *s = string(redact.MaskValues([]byte(*s), known)) }
	for i := range t.System {
		mask(&t.System[i])
	}
	for _, m := range t.Messages {
		for i := range m.Parts {
			mask(&m.Parts[i].Text)
		}
	}
	return nil
}

func (g contextCommands) printRequest(s *session.Session, r api.ContextRequest) {
	out := g.inv.Out
	out.Printf("%s\n", out.PaintText(terminal.Bold, describe.SessionTitle(s)))
	for _, l := range describe.DescribeNextRequest(r) {
		out.Printf("%s\n", l)
	}
	out.Printf("\n")
	g.printSources(r)
	if r.Update != "" {
		out.Printf("\nSources have changed; the next turn begins with this message:\n")
		out.WriteText(shortenUpdate(r) + "\n")
	}
	if r.Problem != "" {
		g.inv.Note(terminal.FirstLine(r.Problem, 600))
	}
	for _, w := range r.Waiting {
		g.inv.Note("cannot be read now: " + terminal.FirstLine(w, 200))
	}
	if r.Request != nil {
		g.printTexts(r.Request)
	}
}

// shortenUpdate returns the beginning of the message about changed sources, and all of it beside the texts of the
// request.
func shortenUpdate(r api.ContextRequest) string {
	const maxBytes = 2000
	text := strings.TrimRight(r.Update, "\n")
	if r.Request != nil || len(text) <= maxBytes {
		return text
	}
	shown := strings.ToValidUTF8(text[:maxBytes], "")
	return shown + "\n" + fmt.Sprintf(
		"… and %s more bytes; --full shows all",
		terminal.FormatCount(int64(len(text)-len(shown))),
	)
}

// printSources prints the sources, the largest first.
func (g contextCommands) printSources(r api.ContextRequest) {
	const nameWidth, barWidth = 34, 10
	t := g.inv.NewTable(" TOKENS", "SHARE", "", "CACHED", "  BYTES", "SOURCE")
	for _, s := range r.Sources {
		share := 0.0
		if r.Tokens > 0 {
			share = float64(s.Tokens) * 100 / float64(r.Tokens)
		}
		cached := "-"
		if s.Tokens > 0 && s.Cached > 0 {
			cached = strconv.Itoa(int(s.Cached*100/s.Tokens)) + "%"
		}
		name := s.Name
		if s.Kind == "tool" {
			name = "tool " + name
		}
		state := ""
		if s.State != "" {
			state = "(" + s.State + ") "
		}
		name = state + shortenPath(name, nameWidth-len(state))
		t.AddRow(fmt.Sprintf("%7s", terminal.FormatCount(s.Tokens)), fmt.Sprintf("%5s", terminal.FormatPercent(share)),
			strings.Repeat(g.inv.Marks.Bar, int(share*barWidth/100+0.5)), fmt.Sprintf("%6s", cached),
			fmt.Sprintf("%7s", terminal.FormatCount(s.Bytes)), name)
	}
	t.Print()
}

// shortenPath returns the name with its beginning left out where it is longer than width.
func shortenPath(name string, width int) string {
	name = terminal.FirstLine(name, 4096)
	if n := utf8.RuneCountInString(name); n > width {
		return "…" + string([]rune(name)[n-width+1:])
	}
	return name
}

// printTexts prints the texts of the request.
func (g contextCommands) printTexts(t *api.ContextText) {
	out := g.inv.Out
	section := func(name, text string) {
		out.Printf("\n%s\n", out.PaintText(terminal.Cyan, "--- "+name))
		out.WriteText(strings.TrimRight(text, "\n") + "\n")
	}
	for i, text := range t.System {
		section(fmt.Sprintf("system %d", i+1), text)
	}
	for _, tool := range t.Tools {
		section("tool "+terminal.FirstLine(tool.Name, 60), tool.Description+"\n"+string(tool.Schema))
	}
	for i, m := range t.Messages {
		for _, p := range m.Parts {
			section(fmt.Sprintf("message %d: %s", i+1, strings.Join(strings.Fields(
				strings.Join([]string{m.Role, p.Type, terminal.FirstLine(p.Name, 60), p.Mime}, " "),
			), " ")), p.Text)
		}
	}
}

func (g contextCommands) explainCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "explain FILE", Short: "Show whether a file is in the model's context here, and why",
		Args:    cobra.ExactArgs(1),
		Example: "  cairn context explain AGENTS.md\n  cairn context explain ~/.claude/CLAUDE.md",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			file := args[0]
			if !filepath.IsAbs(file) && !strings.Contains(file, "://") {
				file = filepath.Join(g.inv.Dir, file)
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				v, err := api.Contexts{Client: c}.ExplainInstruction(ctx, file)
				if err != nil {
					return err
				}
				g.addNested(ctx, c, &v)
				return cli.PrintResult(g.inv, v, g.printVerdict)
			})
		}),
	})
}

// addNested changes the verdict about a file below the directory if the newest session here has discovered it.
func (g contextCommands) addNested(ctx context.Context, c *api.Client, v *api.InstructionVerdict) {
	if v.Included {
		return
	}
	s, err := cli.NewestSession(ctx, c, g.inv.Dir, "")
	if err != nil || !s.HasNested(v.Path) {
		return
	}
	v.Included, v.Reason = true, ""
	v.Rule = "nested: the agent of session " + string(s.ID) + " has worked beside it"
}

func (g contextCommands) printVerdict(v api.InstructionVerdict) {
	out := g.inv.Out
	path := terminal.FirstLine(v.Path, 400)
	if v.Included {
		size := ""
		if v.Bytes > 0 {
			size = ", with " + terminal.FormatCount(v.Bytes) + " bytes"
		}
		out.Printf("%s %s is in the context%s\n", out.PaintText(terminal.Green, g.inv.Marks.Good), path, size)
	} else {
		out.Printf("%s %s is not in the context\n", out.PaintText(terminal.Red, g.inv.Marks.Bad), path)
	}
	if v.Rule != "" {
		out.Printf("rule: %s\n", terminal.FirstLine(v.Rule, 400))
	}
	if v.Reason != "" {
		out.Printf("reason: %s\n", terminal.FirstLine(v.Reason, 600))
	}
	if len(v.Files) > 0 {
		out.Printf("\nfiles in the context here, in their order:\n")
	}
	for _, f := range v.Files {
		out.Printf("  %s\n", terminal.FirstLine(f, 400))
	}
}
