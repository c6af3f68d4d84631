package admin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/offers"
	"github.com/spf13/cobra"
)

// sessionCommands are `cairn session …`.
type sessionCommands struct{ inv *cli.Invocation }

func (g sessionCommands) sessionCommand() *cobra.Command {
	compact, pins, forks := compactCommands(g), pinCommands(g), forkCommands(g)
	archive, rename, remove := g.sessionArchive(), g.sessionRename(), g.sessionDelete()
	g.inv.TakeOnlyHere(archive, rename, remove)
	return cli.GroupCommand(&cobra.Command{
		Use: "session", Short: "List, show, rename, tag, archive, compact, fork, move and delete sessions", Args: cobra.NoArgs,
		Long: "A SESSION is an id, the beginning of one, or last: the newest session of this\n" +
			"repository, and for delete, archive and rename of exactly this directory.",
	}, g.sessionList(), g.sessionShow(), g.sessionChildren(), rename,
		tagCommands(g).sessionTag(), summaryCommands(g).sessionSummary(), archive, remove,
		compact.sessionCompact(), compact.sessionUncompact(), pins.sessionPin(), pins.sessionPins(), pins.sessionUnpin(),
		forks.sessionFork(), forks.sessionTree(), g.sessionMove())
}

// sessionList returns the command that lists sessions, without subagents. Called as OpenCode, it has OpenCode's limits
// and formats.
func (g sessionCommands) sessionList() *cobra.Command {
	var all, here, archived bool
	var limit int
	var search, format string
	var tags []string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sessions of this repository, newest first", Args: cobra.NoArgs,
		Example: "  cairn session list\n  cairn session list --all --search parser --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if g.inv.IsOpenCode() {
				limit = max(limit, 0) // none is no error there
			} else if limit < 1 {
				return cli.UsageErrorf("--limit must be 1 or more, got %d", limit)
			}
			if format != "table" && format != "json" {
				return cli.UsageErrorf("--format must be table or json, got %q", terminal.FirstLine(format, 40))
			}
			if err := checkTags(tags); err != nil {
				return err
			}
			// Find the sessions, then print them in the format that is asked for.
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				q, err := c.RepositorySessions(ctx, all || here || g.inv.IsOpenCode())
				if err != nil {
					return err
				}
				q.Search, q.Archived, q.Tags = search, archived, tags
				if all {
					q.Directory = ""
				}
				list, elsewhere, err := g.inv.ListProjectSessions(ctx, c, q, limit)
				if err != nil {
					return err
				}
				switch {
				case g.inv.JSON:
					return g.inv.PrintJSON(addWindowShares(ctx, c, list))
				case format == "json":
					return g.printOpenCodeSessionJSON(list)
				case g.inv.IsOpenCode():
					g.printOpenCodeSessionTable(list)
				default:
					return g.printSessionList(ctx, c, list, listFilter{search, tags, all}, elsewhere)
				}
				return nil
			})
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include all repositories and directories")
	cmd.Flags().BoolVar(&here, "here", false, "list only the sessions of exactly this directory")
	cmd.MarkFlagsMutuallyExclusive("all", "here")
	cmd.Flags().BoolVar(&archived, "archived", false, "include archived sessions")
	most := 50
	if g.inv.IsOpenCode() {
		most = math.MaxInt
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", most, "list at most `N` sessions")
	if g.inv.IsOpenCode() {
		cmd.Flags().Lookup("limit").DefValue = "0" // hides the default in the help: all
	}
	cmd.Flags().IntVar(&limit, "max-count", most, "")
	cli.HideFlags(cmd.Flags(), "max-count") // OpenCode's name for limit
	cmd.Flags().
		StringVar(&format, "format", "table", "print as `FORMAT`: table, or json in the format of OpenCode's list")
	_ = cmd.RegisterFlagCompletionFunc("format", cli.FixedCompletions("table", "json")) // the flag exists
	cmd.Flags().StringVar(&search, "search", "", "list only sessions with this `TEXT` in the title")
	cmd.Flags().StringArrayVar(&tags, "tag", nil, "list only sessions with this `TAG`; of several, with all of them")
	_ = cmd.RegisterFlagCompletionFunc("tag", g.inv.Complete(cli.TagCompletions)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// listFilter is what cairn session list is asked for.
type listFilter struct {
	search string
	tags   []string
	all    bool // of all directories
}

// printSessionList prints sessions for people, and how many sessions of other checkouts of the repository there are.
func (g sessionCommands) printSessionList(
	ctx context.Context, c *api.Client, list []*session.Session, filter listFilter, elsewhere int,
) error {
	activities, err := follow.ReadActivities(ctx, c, list)
	if err != nil {
		return err
	}
	if len(list) == 0 && (filter.search != "" || len(filter.tags) > 0) {
		g.reportNoMatch(filter)
	} else {
		g.listSessions(list, readFacts(ctx, c, list, activities), filter.all)
	}
	if elsewhere > 0 {
		g.inv.Err.Printf("%s\n", cli.DescribeElsewhere(elsewhere))
	}
	if at, err := c.Location(ctx); err == nil && at.Unlinked && !filter.all {
		g.inv.Err.Printf("%s\n", unlinkedNote)
	}
	return nil
}

// reportNoMatch says that no session is as the filter asks. There may be others.
func (g sessionCommands) reportNoMatch(filter listFilter) {
	var missing []string
	if filter.search != "" {
		missing = append(missing, fmt.Sprintf("%q in its title", terminal.FirstLine(filter.search, 60)))
	}
	for _, tag := range filter.tags {
		missing = append(missing, fmt.Sprintf("the tag %q", terminal.FirstLine(tag, 60)))
	}
	where := " in " + g.inv.Dir
	if filter.all {
		where = ""
	}
	g.inv.Err.Printf("No session%s has %s.\n", where, strings.Join(missing, " and "))
}

func (g sessionCommands) sessionChildren() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "children [SESSION]", Short: "List the sessions of the tasks of a session, newest first",
		Args: cobra.MaximumNArgs(1), Example: "  cairn session children\n  cairn session children last --json",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			list, err := g.inv.ListSessions(ctx, c, api.SessionQuery{Archived: true, Parent: &s.ID}, describe.MaxFamily)
			switch {
			case err != nil:
				return err
			case g.inv.JSON:
				return g.inv.PrintJSON(addWindowShares(ctx, c, list))
			case len(list) == 0:
				g.inv.Err.Printf("The session %s has no tasks.\n", s.ID)
				return nil
			}
			activities, err := follow.ReadActivities(ctx, c, list)
			if err != nil {
				return err
			}
			g.listSessions(list, readFacts(ctx, c, list, activities), false)
			return nil
		}),
	})
}

// describeActivity returns the word for what a session does.
func describeActivity(a follow.Activity) string {
	switch a {
	case follow.Working:
		return "at work"
	case follow.Asking:
		return "needs an answer"
	case follow.Unfinished:
		return "cut off"
	default:
		return "idle"
	}
}

// sessionFacts are what a list shows of sessions beside their own fields: what they do, the models of those without a
// choice, and the directories that do not exist any more.
type sessionFacts struct {
	activities map[session.ID]follow.Activity
	defaults   map[session.ID]string
	missing    map[string]bool
}

// readFacts returns the facts of sessions with the activities.
func readFacts(
	ctx context.Context, c *api.Client, list []*session.Session, activities map[session.ID]follow.Activity,
) sessionFacts {
	return sessionFacts{activities, readDefaultModels(ctx, c, list), c.FindMissingDirectories(ctx, list)}
}

// maxDefaultPlaces bounds the directories that are asked for their default models.
const maxDefaultPlaces = 10

// readDefaultModels returns the models that answer in the sessions that have selected none: that of the agent, or of
// the directory. What cannot be read is left out.
func readDefaultModels(ctx context.Context, c *api.Client, list []*session.Session) map[session.ID]string {
	out, places := map[session.ID]string{}, map[string]*offers.PromptOffers{}
	for _, s := range list {
		if s.Model != nil {
			continue
		}
		// Read what the directory offers, once.
		dir := s.Location.Directory
		if places[dir] == nil {
			if len(places) == maxDefaultPlaces {
				continue
			}
			there := c.In(dir)
			places[dir] = &offers.PromptOffers{}
			if at, err := there.Location(ctx); err == nil {
				places[dir].Default = at.Model
			}
			if agents, err := there.Agents(ctx); err == nil {
				places[dir].Agents = agents.Data
			}
		}
		if ref := places[dir].ChooseModel(s.Agent); ref.ID != "" {
			out[s.ID] = ref.String()
		}
	}
	return out
}

// listSessions prints sessions as a table, with their directories if all are listed.
func (g sessionCommands) listSessions(list []*session.Session, facts sessionFacts, all bool) {
	// Say where none were found, and how to start one.
	if len(list) == 0 {
		where := "in " + g.inv.Dir
		if all {
			where = "yet"
		}
		g.inv.Err.Printf("No sessions %s. Start one with: cairn run \"…\"\n", where)
		return
	}
	// The column of directories exists only if the rows can differ in it.
	elsewhere := slices.ContainsFunc(list, func(s *session.Session) bool { return s.Location.Directory != g.inv.Dir })
	t := g.inv.NewTable("ID", "UPDATED", "STATE", "MODEL", "COST", "TITLE")
	if all || elsewhere {
		t.Head = append(t.Head, "DIRECTORY")
	}
	t.Right = []string{"COST"}
	for _, s := range list {
		model := cmp.Or(facts.defaults[s.ID], "default")
		if s.Model != nil {
			model = s.Model.String()
		}
		row := []string{
			string(s.ID),
			terminal.FormatAge(s.Time.Updated),
			describeActivity(facts.activities[s.ID]),
			terminal.FirstLine(model, 60),
			describe.FormatCost(s.Cost, s.Tokens),
			describe.SessionMark(s),
		}
		dir := ""
		if all {
			dir = terminal.FirstLine(s.Location.Directory, 80)
		} else if elsewhere {
			dir = describe.FormatDirectory(s.Location.Directory, g.inv.Dir)
		}
		if dir != "" {
			row = append(row, describe.MarkMissingDirectory(dir, facts.missing[s.Location.Directory]))
		}
		t.AddRow(row...)
	}
	t.Print()
}

// sessionShow returns the command that prints the messages of a session.
func (g sessionCommands) sessionShow() *cobra.Command {
	var thinking, full, tree bool
	cmd := &cobra.Command{
		Use: "show [SESSION]", Short: "Show the messages of a session", Args: cobra.MaximumNArgs(1),
		Example: "  cairn session show\n  cairn session show ses_… --full\n  cairn session show last --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			s, err := g.inv.FindSession(ctx, c, cli.FirstArg(args, "last"))
			if err != nil {
				return err
			}
			// The tree is another output, which needs no messages.
			if tree {
				return forkCommands(g).showFamily(ctx, c, s)
			}
			ms, err := readMessages(ctx, c, s.ID)
			if err != nil {
				return err
			}
			if g.inv.JSON {
				return g.inv.PrintJSON(struct {
					Info     *session.Session  `json:"info"`
					Messages []session.Message `json:"messages"`
				}{s, ms})
			}
			// Whether it is at work decides how an open message is described.
			active, err := c.Active(ctx)
			if err != nil {
				return err
			}
			atWork := active[s.ID].Type == api.TypeRunning
			(&transcript{
				out: g.inv.Out, marks: g.inv.Marks, thinking: thinking, full: full, working: atWork,
				fill: readWindowShare(ctx, c, s.ID),
			}).print(s, ms)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&thinking, "thinking", false, "show the model's reasoning")
	cmd.Flags().BoolVar(&full, "full", false, "show the results of tools")
	cmd.Flags().BoolVar(&tree, "tree", false, "show what cairn session tree shows instead")
	return g.inv.AddJSONFlag(cmd)
}

// listedSession is a session with the share of its model's window that its next request takes, in percent.
type listedSession struct {
	*session.Session
	Fill float64 `json:"windowFill,omitzero"` // 0 is unknown
}

func addWindowShares(ctx context.Context, c *api.Client, list []*session.Session) []listedSession {
	out := make([]listedSession, len(list))
	for i, s := range list {
		out[i] = listedSession{s, readWindowShare(ctx, c, s.ID)}
	}
	return out
}

// readWindowShare returns the share of the model's window that the session's next request takes, in percent; 0 if it is
// unknown.
func readWindowShare(ctx context.Context, c *api.Client, id session.ID) float64 {
	r, err := api.Contexts{Client: c}.NextRequest(ctx, id, false)
	if err != nil {
		return 0
	}
	return r.Window.Fill
}

// readMessages reads the whole history, oldest first.
func readMessages(ctx context.Context, c *api.Client, id session.ID) ([]session.Message, error) {
	ms := []session.Message{}
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := c.Messages(ctx, id, q)
		if err != nil {
			return nil, err
		}
		ms = append(ms, page.Data...)
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			return ms, nil
		}
		q.Cursor = page.Cursor.Next
	}
}

func (g sessionCommands) sessionRename() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "rename SESSION TITLE…", Short: "Change the title of a session", Args: cobra.MinimumNArgs(2),
		Example: `  cairn session rename last "The parser"`,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.inv.WithSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) error {
				err := c.Rename(ctx, s.ID, strings.Join(args[1:], " "))
				return g.inv.FinishChange(err, cli.Change{SessionID: s.ID}, "")
			})
		}),
	})
}

// sessionDelete returns the command that deletes sessions, one after the other; the first failure ends it.
func (g sessionCommands) sessionDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete SESSION…", Short: "Delete sessions permanently; their costs stay in cairn stats",
		Args: cobra.MinimumNArgs(1),
		Long: "Delete sessions permanently. Unless a session is named by its full id, confirm on the terminal, or use\n" +
			"--yes. Mirrors and backups of cairn that keep a session are named; exports, and backups of the machine,\n" +
			"are not known to cairn.",
		Example: "  cairn session delete ses_…\n  cairn session delete last --yes",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			for _, name := range args {
				// "last" and the beginning of an id may mean another session than the user thinks, so they need a
				// confirmation.
				err := g.inv.WithDeleteClient(ctx, func(ctx context.Context, c *api.Client) error {
					s, err := g.findToDelete(ctx, c, name)
					if err != nil {
						return err
					}
					what := fmt.Sprintf("%s %s", s.ID, describe.SessionTitle(s))
					if !yes && name != string(s.ID) {
						hint := "Use --yes, or name the session by its full id."
						q := cli.Confirmation{What: "delete " + what + " permanently", Hint: hint}
						if err := g.inv.Confirm(ctx, q); err != nil {
							return err
						}
					}
					if err := c.Delete(ctx, s.ID); err != nil {
						return err
					}
					copies := g.findCopies(ctx, s)
					g.inv.ReportChange(cli.Change{SessionID: s.ID, Copies: copies}, "deleted "+what)
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "delete without asking for confirmation")
	return g.inv.AddJSONFlag(cmd)
}

// findCopies returns the mirrors and backups that may keep the deleted session, and names them to people.
func (g sessionCommands) findCopies(ctx context.Context, s *session.Session) []string {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return nil
	}
	copies, err := g.inv.Host.FindCopies(ctx, o, s)
	if err != nil {
		g.inv.Note(fmt.Sprintf("mirrors and backups that keep the session cannot be named: %v", err))
	}
	if !g.inv.JSON {
		for _, where := range copies {
			g.inv.Note(terminal.ReplaceControls(where) + " may keep it")
		}
	}
	return copies
}

// findToDelete finds the session to delete. A damaged session cannot be read, so its complete id is enough.
func (g sessionCommands) findToDelete(ctx context.Context, c *api.Client, name string) (*session.Session, error) {
	s, err := g.inv.FindSession(ctx, c, name)
	if follow.IsDamaged(err) && name != "last" {
		return &session.Session{ID: session.ID(name), Title: "(damaged)"}, nil
	}
	return s, err
}
