package inspect

import (
	"context"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// searchCommand is `cairn search`.
type searchCommand struct{ inv *cli.Invocation }

func (g searchCommand) searchCommand() *cobra.Command {
	var q api.SearchQuery
	var project, of, since string
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the texts of all sessions", Args: cobra.MinimumNArgs(1),
		Long: "Search prompts, answers, tool calls with their input and output, shell commands and titles for texts that have\n" +
			"all of the words. \"several words\" in quotes follow one another, -WORD must not be there, and WORD* is the beginning of\n" +
			"a word. An identifier or a path is found by its parts: fooBar by foo and by bar, a/b.go:12 by b.go. What fits best\n" +
			"comes first, and of what fits alike the newest.",
		Example: "  cairn search parser timeout\n" +
			"  cairn search '\"connection refused\"' --tool bash --error --since 30d\n" +
			"  cairn search parseURL --project . --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			from, err := cli.ParseTime("since", since, time.Now())
			if err != nil {
				return err
			}
			if !from.IsZero() {
				q.Since = from.UnixMilli()
			}
			q.Text = strings.Join(args, " ")
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				if project != "" {
					id, err := g.inv.FindProject(ctx, c, project)
					if err != nil {
						return err
					}
					q.Project = string(id)
				}
				if q.SessionID, err = g.inv.FindSessionID(ctx, c, of); err != nil {
					return err
				}
				found, err := c.Search(ctx, q)
				if err != nil {
					return err
				}
				if !found.Complete {
					g.inv.Err.Printf("The search index is behind the sessions: there may be more to find. Search again in a moment.\n")
				}
				return cli.PrintResult(g.inv, found, g.printHits)
			})
		}),
	}
	cmd.Flags().StringVar(&project, "project", "", "search only the `PROJECT`: a name, an id or a directory (see cairn project list)")
	cmd.Flags().StringVarP(&of, "session", "s", "", "search only the session with this `ID`, or last")
	cmd.Flags().StringVar(&since, "since", "", "search only what is not older than this `DATE`, or than this time, such as 7d")
	cmd.Flags().StringVar(&q.Role, "role", "", "search only what this `ROLE` wrote: user or assistant")
	cmd.Flags().StringVar(&q.Kind, "kind", "", "search only texts of this `KIND`: title, prompt, answer, tool, shell or summary")
	cmd.Flags().StringVar(&q.Tool, "tool", "", "search only calls of this `TOOL`")
	cmd.Flags().StringVar(&q.Agent, "agent", "", "search only texts of this `AGENT`")
	cmd.Flags().BoolVar(&q.Failed, "error", false, "search only what failed")
	cmd.Flags().Int64VarP(&q.Limit, "limit", "n", 20, "print at most `N` hits, up to 100")
	cmd.Flags().Int64Var(&q.Offset, "offset", 0, "leave out the first `N` hits")
	for name, values := range map[string][]string{
		"role": {"user", "assistant"}, "kind": {"title", "prompt", "answer", "tool", "shell", "summary"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cli.FixedCompletions(values...)) // the flag exists
	}
	_ = cmd.RegisterFlagCompletionFunc("project", g.inv.Complete(cli.ProjectCompletions))   // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("session", g.inv.Complete(g.inv.SessionCompletions)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// printHits prints two lines for each hit: where it is, and the text around the words.
func (g searchCommand) printHits(found api.SearchResult) {
	out := g.inv.Out
	for _, h := range found.Hits {
		what := h.Kind
		if h.Tool != "" {
			what = h.Tool
		}
		if h.Failed {
			what += ", failed"
		}
		place := []string{terminal.FormatAge(h.Time), what, terminal.FirstLine(h.Title, 60)}
		if h.MessageID != "" {
			place = append(place, string(h.MessageID))
		}
		out.Printf("%s  %s\n", h.SessionID, out.PaintText(terminal.Dim, strings.Join(place, "  ")))
		out.Printf("    %s\n", paintMatches(out, h.Snippet))
	}
	switch {
	case len(found.Hits) == 0:
		g.inv.Err.Printf("Nothing was found.\n")
	case found.More:
		g.inv.Err.Printf("There is more: --limit and --offset show it.\n")
	}
}

// paintMatches returns a snippet with its matches in bold.
func paintMatches(out *terminal.Stream, s api.Snippet) string {
	var b strings.Builder
	for text, isMatch := range s.Parts() {
		if text = terminal.CleanOutput(text); isMatch {
			text = out.PaintText(terminal.Bold, text)
		}
		b.WriteString(text)
	}
	return b.String()
}
