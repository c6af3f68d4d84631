package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// forkCommands are `cairn session fork` and `tree`.
type forkCommands struct{ inv *cli.Invocation }

func (g forkCommands) sessionFork() *cobra.Command {
	var asJSON bool
	var before, part string
	cmd := &cobra.Command{
		Use: "fork [SESSION]", Short: "Copy a session, to go on in another direction",
		Long: "Copy a session to a new one, which has the same history up to a message. Both work on the same files.\n" +
			"What is open in the session is copied as interrupted, and goes on there. The copy costs nothing.",
		Args: cobra.MaximumNArgs(1),
		Example: "  cairn session fork\n  cairn session fork last --before 3\n" +
			"  cairn run -s \"$(cairn session fork last --json | jq -r .id)\" \"Try it with a queue\"",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if part != "" && before == "" {
				return cli.UsageErrorf("--part goes with --before, which names the message of the part")
			}
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					r, err := findForkPoint(ctx, c, s, before, part)
					if err != nil {
						return err
					}
					forked, err := api.Forks{Client: c}.ForkSession(ctx, s.ID, r)
					if err != nil {
						return err
					}
					if asJSON {
						return g.inv.PrintJSON(forked)
					}
					g.inv.Out.Printf("%s  %s\n", forked.ID, cli.SessionTitle(forked))
					g.inv.Note("continue it with: cairn run -s " + string(forked.ID) + " \"…\"")
					return nil
				})
		}),
	}
	cli.AddJSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&before, "before", "", "copy only what comes before this `MESSAGE`, or prompt by its number")
	cmd.Flags().StringVar(&part, "part", "", "with --before: copy its parts before this `PART`")
	return cmd
}

// findForkPoint returns the request for a fork before the message and part that the names stand for, "" for none.
func findForkPoint(
	ctx context.Context, c *api.Client, s *session.Session, message, part string,
) (r api.ForkRequest, err error) {
	if message != "" {
		if r.Before, err = cli.FindMessage(ctx, c, s, message); err != nil {
			return r, err
		}
	}
	if part != "" {
		r.PartID, err = cli.FindPart(ctx, c, s.ID, r.Before, part)
	}
	return r, err
}

func (g forkCommands) sessionTree() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tree [SESSION]", Short: "Show the forks of a session and the sessions that it started",
		Long: "Show the family of a session: the session that it was copied from, the forks of that, and the sessions\n" +
			"that their calls started.",
		Args: cobra.MaximumNArgs(1), Example: "  cairn session tree\n  cairn session tree last --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					return g.showFamily(ctx, c, s, asJSON)
				})
		}),
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// showFamily prints the tree that the session is in.
func (g forkCommands) showFamily(ctx context.Context, c *api.Client, s *session.Session, asJSON bool) error {
	all, err := g.inv.ListSessions(ctx, c, api.SessionQuery{Project: s.ProjectID, Archived: true}, maxFamily)
	if err != nil {
		return err
	}
	root := newFamily(all, s)
	if asJSON {
		return g.inv.PrintJSON(root)
	}
	g.printFamily(root, s.ID, "", "")
	return nil
}

// maxFamily bounds the sessions of the project among which the family is searched.
const maxFamily = 10_000

// familyNode is what `session tree --json` prints of each session.
type familyNode struct {
	ID       session.ID        `json:"id"`
	Title    string            `json:"title"`
	Before   session.MessageID `json:"before,omitzero"` // of a fork: the first message that was not copied
	Updated  int64             `json:"updated"`
	Forks    []*familyNode     `json:"forks,omitempty"`
	Children []*familyNode     `json:"children,omitempty"` // that its calls started

	archived bool
}

// newFamily returns the tree that s is in.
func newFamily(all []*session.Session, s *session.Session) *familyNode {
	byID := map[session.ID]*session.Session{s.ID: s}
	for _, o := range all {
		byID[o.ID] = o
	}
	parent := func(o *session.Session) *session.Session {
		if o.Fork != nil && byID[o.Fork.From] != nil {
			return byID[o.Fork.From]
		}
		return byID[o.ParentID]
	}
	nodes := map[session.ID]*familyNode{}
	for id, o := range byID {
		nodes[id] = &familyNode{ID: id, Title: o.Title, Updated: o.Time.Updated, archived: o.Time.Archived != 0}
		if o.Fork != nil {
			nodes[id].Before = o.Fork.Before
		}
	}
	ordered := append(slices.Clone(all), s)
	slices.SortFunc(ordered, func(a, b *session.Session) int {
		return cmp.Or(cmp.Compare(a.Time.Created, b.Time.Created), cmp.Compare(a.ID, b.ID))
	})
	for _, o := range slices.CompactFunc(ordered, func(a, b *session.Session) bool { return a.ID == b.ID }) {
		switch p := parent(o); {
		case p == nil:
		case o.Fork != nil:
			nodes[p.ID].Forks = append(nodes[p.ID].Forks, nodes[o.ID])
		default:
			nodes[p.ID].Children = append(nodes[p.ID].Children, nodes[o.ID])
		}
	}
	root := byID[s.ID]
	for range byID { // a chain has no more links than there are sessions
		up := parent(root)
		if up == nil {
			break
		}
		root = up
	}
	return nodes[root.ID]
}

// printFamily prints the node and those below it. The session current is marked.
func (g forkCommands) printFamily(n *familyNode, current session.ID, first, rest string) {
	out := g.inv.Out
	mark := ""
	if n.ID == current {
		mark = out.PaintText(term.Green, " *")
	}
	title := term.FirstLine(n.Title, 60)
	if n.archived {
		title += " (archived)"
	}
	out.Printf("%s%s  %s  %s%s\n", first, n.ID, title, out.PaintText(term.Dim, term.FormatAge(n.Updated)), mark)
	below := append(slices.Clone(n.Children), n.Forks...)
	for i, child := range below {
		first, next := "├─ ", "│  "
		if i == len(below)-1 {
			first, next = "└─ ", "   "
		}
		if slices.Contains(n.Forks, child) {
			first += "fork "
		}
		g.printFamily(child, current, rest+first, rest+next)
	}
}
