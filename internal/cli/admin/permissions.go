package admin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// permissionCommands are `cairn permission …`.
type permissionCommands struct{ inv *cli.Invocation }

func (g permissionCommands) permissionCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "permission", Short: "Answer permission requests, manage saved permissions, explain rules",
		Long: "A tool call that needs a permission waits for an answer, which can come from any terminal, also after a\n" +
			"restart of cairn.",
	}, g.permissionList(), g.permissionReply(), g.permissionApprovals(), g.permissionRevoke(), g.permissionExplain())
}

// permissionList returns the command that lists pending requests, of all sessions or of one.
func (g permissionCommands) permissionList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List the pending permission requests",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn permission list\n  cairn permission list ses_… --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			asks, err := g.listAsks(ctx, c, cli.FirstArg(args, ""))
			if err != nil {
				return err
			}
			if err := cli.PrintResult(g.inv, asks, g.printAsks); err != nil || len(args) > 0 {
				return err
			}
			return g.noteOtherAsks(ctx, c)
		}),
	})
}

// printAsks prints each request: its id, which the reply needs, then what is asked and the details.
func (g permissionCommands) printAsks(asks []session.PendingAsk) {
	out := g.inv.Out
	if len(asks) == 0 {
		g.inv.Err.Printf("No permission requests are pending.\n")
	}
	for _, ask := range asks {
		age := out.PaintText(terminal.Dim, terminal.FormatAge(ask.Time))
		out.Printf("%s  %s  %s\n", out.PaintText(terminal.Bold, string(ask.ID)), ask.SessionID, age)
		out.Printf("  %s\n", describe.AskTitle(ask))
		for _, l := range describe.AskDetails(ask) {
			out.Printf("    %s\n", l)
		}
	}
}

// maxOtherDirectories bounds the directories that noteOtherAsks asks.
const maxOtherDirectories = 20

// noteOtherAsks names the other directories whose sessions wait for an answer. Sessions that end meanwhile are left
// out.
func (g permissionCommands) noteOtherAsks(ctx context.Context, c *api.Client) error {
	active, err := c.Active(ctx)
	if err != nil {
		return err
	}
	// Find the directories of the sessions at work, and of those that a process left unfinished.
	dirs := map[string]bool{}
	for id, a := range active {
		if a.Directory == "" {
			if s, err := c.Session(ctx, id); err == nil {
				a.Directory = s.Location.Directory
			}
		}
		if a.Directory != "" && a.Directory != c.Directory && len(dirs) < maxOtherDirectories {
			dirs[a.Directory] = true
		}
	}
	// Name those with requests.
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if asks, err := c.In(dir).Asks(ctx, ""); err == nil && len(asks) > 0 {
			g.inv.Note(terminal.FormatPlural(len(asks), "request") + " of another directory: cd " +
				terminal.FirstLine(dir, 200) + " && cairn permission list")
		}
	}
	return nil
}

// listAsks returns the pending permission requests of the named session, or of all sessions.
func (g permissionCommands) listAsks(ctx context.Context, c *api.Client, name string) ([]session.PendingAsk, error) {
	id, err := g.inv.FindSessionID(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return c.Asks(ctx, id)
}

// permissionReply returns the command that answers a request. It checks the combination of the flags first, then finds
// the request by its id or the beginning of it.
func (g permissionCommands) permissionReply() *cobra.Command {
	var lifetime string
	var patterns []string
	cmd := &cobra.Command{
		Use: "reply REQUEST ANSWER [REASON…]", Short: "Answer a permission request", Args: cobra.MinimumNArgs(2),
		Long: "Answer a permission request. ANSWER is once (yes, y), which allows this call, always (a), which also\n" +
			"saves the permission, session (s), which saves it for the session, or reject (no, n). A saved permission holds --for the project until it is revoked, for the process until cairn\n" +
			"restarts, or for the session that asked; it is what the request offers, or each --pattern. With a\n" +
			"REASON, reject passes the reason to the model, which continues; without one it stops the session's work.",
		Example: "  cairn permission reply per_… once\n  cairn permission reply per_… always --for session\n" +
			"  cairn permission reply per_… always --pattern \"go test *\"\n" +
			"  cairn permission reply per_… reject \"use the staging database\"",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			r := api.ReplyRequest{
				Reply:    session.Reply(args[1]),
				Message:  strings.Join(args[2:], " "),
				Lifetime: session.Lifetime(lifetime),
				Patterns: patterns,
			}
			if answer, ok := replyWords[strings.ToLower(args[1])]; ok {
				r.Reply = answer
			}
			if word := strings.ToLower(args[1]); (word == "s" || word == "session") && lifetime == "" {
				r.Lifetime = session.LifetimeSession
			}
			// Check the combination of flags.
			if r.Lifetime != "" && r.Reply != session.ReplyAlways {
				return cli.UsageErrorf("--for is allowed with always only")
			}
			switch r.Lifetime {
			case "", session.LifetimeSession, session.LifetimeProcess, session.LifetimeProject:
			default:
				return cli.UsageErrorf("--for must be session, process or project, got %q", terminal.FirstLine(lifetime, 40))
			}
			if len(r.Patterns) > 0 && r.Reply != session.ReplyAlways {
				return cli.UsageErrorf("--pattern is allowed with always only")
			}
			switch r.Reply {
			case session.ReplyOnce, session.ReplyAlways:
				if r.Message != "" {
					return cli.UsageErrorf("a reason is allowed with reject only")
				}
			case session.ReplyReject:
			default:
				return cli.UsageErrorf("the answer must be once (y), session (s), always (a) or reject (n), got %q",
					terminal.FirstLine(args[1], 40))
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				asks, err := g.listAsks(ctx, c, "")
				if err != nil {
					return err
				}
				// Find the request by its id or the beginning of it.
				kind := cli.Kind{Name: "permission request", Hint: "cairn permission list shows the pending requests"}
				ask, err := cli.FindByID(kind, asks, func(a session.PendingAsk) session.AskID { return a.ID }, args[0])
				if err != nil {
					return err
				}
				how := string(r.Reply)
				if r.Reply == session.ReplyAlways {
					how = describe.DescribeLifetime(r.Lifetime)
				}
				err = c.Reply(ctx, ask.SessionID, ask.ID, r)
				change := cli.Change{SessionID: ask.SessionID, AskID: ask.ID, Reply: r.Reply}
				return g.inv.FinishChange(err, change, "answered "+how+": "+describe.AskSummary(ask))
			})
		}),
	}
	cmd.Flags().StringVar(&lifetime, "for", "",
		"keep the permission for `LIFETIME`: session, process or project (default project)")
	lifetimes := cli.FixedCompletions("session", "process", "project")
	_ = cmd.RegisterFlagCompletionFunc("for", lifetimes) // the flag exists
	cmd.Flags().StringArrayVar(&patterns, "pattern", nil, "save this `PATTERN` instead of the offered ones, repeatable")
	answers := cli.FixedCompletions("once", "session", "always", "reject")
	cmd.ValidArgsFunction = cli.CompleteInOrder(g.inv.CompleteFirst(cmd), answers)
	return g.inv.AddJSONFlag(cmd)
}

// replyWords are the answers in the words and letters of the dialogs.
var replyWords = map[string]session.Reply{
	"y": session.ReplyOnce, "yes": session.ReplyOnce, "s": session.ReplyAlways, "session": session.ReplyAlways,
	"a": session.ReplyAlways, "n": session.ReplyReject, "no": session.ReplyReject,
}

// permissionApprovals returns the command that lists saved permissions.
func (g permissionCommands) permissionApprovals() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List the saved permissions of this project", Args: cobra.NoArgs,
		Example: "  cairn permission approvals --all",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			list, err := listApprovals(ctx, c, all)
			if err != nil {
				return err
			}
			return cli.List[api.Approval]{
				Head:  []string{"ID", "ACTION", "RESOURCE", "LIFETIME", "SINCE", "NOTE"},
				Row:   formatApproval,
				Empty: "No permissions are saved.",
			}.Print(g.inv, list)
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include all projects")
	return g.inv.AddJSONFlag(cmd)
}

// formatApproval returns the row of a saved permission.
func formatApproval(p api.Approval) []string {
	// An approval of a command that is wider than what cairn offers still holds: mark it.
	note := ""
	if p.Action == permission.Shell && !permission.IsOffered(p.Resource) {
		note = "wide: no longer offered"
	}
	// An approval for a session names the session.
	lifetime := string(p.Lifetime)
	if p.Lifetime == session.LifetimeSession {
		lifetime = p.Holder
	}
	action, resource := terminal.FirstLine(p.Action, 40), terminal.FirstLine(p.Resource, 80)
	return []string{p.ID, action, resource, lifetime, terminal.FormatAge(p.Time), note}
}

// listApprovals returns the saved permissions of this project, or of all projects.
func listApprovals(ctx context.Context, c *api.Client, all bool) ([]api.Approval, error) {
	if all {
		return c.Approvals(ctx, "")
	}
	at, err := c.Location(ctx)
	if err != nil {
		return nil, err
	}
	return c.Approvals(ctx, at.ProjectRef())
}

func (g permissionCommands) permissionRevoke() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "revoke APPROVAL…", Short: "Revoke saved permissions", Args: cobra.MinimumNArgs(1),
		Example: "  cairn permission revoke psv_…",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			for _, id := range args {
				if err := c.Revoke(ctx, id); err != nil {
					return cli.AddNotFoundHint(err, "cairn permission approvals shows the saved permissions")
				}
				g.inv.ReportChange(cli.Change{ApprovalID: id}, "")
			}
			return nil
		}),
	})
}
