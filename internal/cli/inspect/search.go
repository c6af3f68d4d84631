package inspect

import (
	"cmp"
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

// searchFlags are the flags that need the server or the time to become a part of the query.
type searchFlags struct{ project, session, since string }

func (g searchCommand) searchCommand() *cobra.Command {
	var q api.SearchQuery
	var flags searchFlags
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the texts of all sessions", Args: cobra.MinimumNArgs(1),
		Long: "Search prompts, answers, tool calls with their input and output, shell commands and titles for texts that have\n" +
			"all of the words. \"several words\" in quotes follow one another, -WORD must not be there, and WORD* is the beginning of\n" +
			"a word. Write -- before the words if one of them begins with -. An identifier or a path is found by its parts:\n" +
			"fooBar by foo and by bar, a/b.go:12 by b.go. What fits best comes first, and of what fits alike the newest.",
		Example: "  cairn search parser timeout\n" +
			"  cairn search -- parser -lexer\n" +
			"  cairn search '\"connection refused\"' --tool bash --error --since 30d\n" +
			"  cairn search parseURL --project . --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if q.Limit < 1 {
				return cli.UsageErrorf("--limit must be from 1 to 100, got %d", q.Limit)
			}
			q.Text = strings.Join(args, " ")
			return g.search(ctx, q, flags)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&flags.project, "project", "", "search only the `PROJECT`: a name, an id or a directory (see cairn project list)")
	f.StringVarP(&flags.session, "session", "s", "", "search only the session with this `ID`, or last")
	f.StringVar(&flags.since, "since", "", "search only what is not older than this `DATE`, or than this time, such as 7d")
	f.StringVar(&q.Role, "role", "", "search only what this `ROLE` wrote: user or assistant")
	f.StringVar(&q.Kind, "kind", "", "search only texts of this `KIND`: title, prompt, answer, tool, shell or summary")
	f.StringVar(&q.Tool, "tool", "", "search only calls of this `TOOL`")
	f.StringVar(&q.Agent, "agent", "", "search only texts of this `AGENT`")
	f.BoolVar(&q.Failed, "error", false, "search only what failed")
	f.Int64VarP(&q.Limit, "limit", "n", 20, "print at most `N` hits, up to 100")
	f.Int64Var(&q.Offset, "offset", 0, "leave out the first `N` hits")
	for name, values := range map[string][]string{
		"role": {"user", "assistant"}, "kind": {"title", "prompt", "answer", "tool", "shell", "summary"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cli.FixedCompletions(values...)) // the flag exists
	}
	_ = cmd.RegisterFlagCompletionFunc("tool", g.inv.Complete(cli.ToolCompletions))         // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("project", g.inv.Complete(cli.ProjectCompletions))   // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("session", g.inv.Complete(g.inv.SessionCompletions)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// search completes the query with the flags, and prints the hits.
func (g searchCommand) search(ctx context.Context, q api.SearchQuery, flags searchFlags) error {
	// Read the time before anything is connected.
	since, err := cli.ParseTime("since", flags.since, time.Now())
	if err != nil {
		return err
	}
	if !since.IsZero() {
		q.Since = since.UnixMilli()
	}
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		// Find the project and the session that the flags name.
		if flags.project != "" {
			id, err := g.inv.FindProject(ctx, c, flags.project)
			if err != nil {
				return err
			}
			q.Project = string(id)
		}
		if q.SessionID, err = g.inv.FindSessionID(ctx, c, flags.session); err != nil {
			return err
		}
		// Search, and say if the result may lack something.
		result, err := c.Search(ctx, q)
		if err != nil {
			return err
		}
		switch {
		case result.Problem != "":
			g.inv.Err.Printf("The search index is behind the sessions, so there may be more to find: %s\n",
				terminal.FirstLine(result.Problem, 300))
		case !result.Complete:
			g.inv.Err.Printf("The search index is behind the sessions: there may be more to find. Search again in a moment.\n")
		}
		if result.Trimmed {
			g.inv.Err.Printf("The search index has reached its bound, so old texts are not found; storage.search raises it.\n")
		}
		return cli.PrintResult(g.inv, result, g.printHits)
	})
}

// printHits prints two lines for each hit: where it is, and the text around the words.
func (g searchCommand) printHits(result api.SearchResult) {
	out := g.inv.Out
	for _, h := range result.Hits {
		// The first line: the session, then age, kind, title and message.
		kind := terminal.FirstLine(cmp.Or(h.Tool, h.Kind), 60)
		if h.Failed {
			kind += ", failed"
		}
		fields := []string{terminal.FormatAge(h.Time), kind, terminal.FirstLine(h.Title, 60)}
		if h.MessageID != "" {
			fields = append(fields, terminal.FirstLine(string(h.MessageID), 60))
		}
		out.Printf("%s  %s\n", terminal.FirstLine(string(h.SessionID), 60), out.PaintText(terminal.Dim, strings.Join(fields, "  ")))
		// The second line: the text.
		out.Printf("    %s\n", paintMatches(out, h.Snippet))
	}
	switch {
	case len(result.Hits) == 0:
		g.inv.Err.Printf("Nothing was found.\n")
	case result.More:
		g.inv.Err.Printf("There is more: --limit and --offset show it.\n")
	}
}

// paintMatches returns a snippet as one line without control characters, with its matches in bold.
func paintMatches(out *terminal.Stream, s api.Snippet) string {
	var line strings.Builder
	breaks := strings.NewReplacer("\n", " ", "\t", " ")
	for text, isMatch := range s.Parts() {
		// Colours are removed before what is left of control characters is made visible.
		text = breaks.Replace(terminal.ReplaceControls(terminal.CleanOutput(text)))
		if isMatch {
			text = out.PaintText(terminal.Bold, text)
		}
		line.WriteString(text)
	}
	return line.String()
}
