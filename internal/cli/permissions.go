package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) permissionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "permission", Short: "Answer what waits for a permission; see and revoke saved ones; explain rules",
		Long: "A tool call that needs a permission waits until somebody answers, here or in another terminal, today or\n" +
			"after a restart.",
	}
	cmd.AddCommand(a.permissionList(), a.permissionReply(), a.permissionApprovals(), a.permissionRevoke(), a.permissionExplain())
	return parent(cmd)
}

func (a *app) permissionList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List what waits for an answer", Args: cobra.MaximumNArgs(1),
		Example: "  cairn permission list\n  cairn permission list ses_… --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				asks, err := a.asks(ctx, c, first(args, ""))
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(asks)
				}
				if len(asks) == 0 {
					a.err.printf("Nothing waits for a permission.\n")
				}
				for _, ask := range asks {
					a.out.printf("%s  %s  %s\n", a.out.paint(bold, string(ask.ID)), ask.SessionID, a.out.paint(dim, ago(ask.Time)))
					a.out.printf("  %s\n", askTitle(ask))
					for _, l := range details(ask) {
						a.out.printf("    %s\n", l)
					}
				}
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// asks returns what waits in one session, or everywhere.
func (a *app) asks(ctx context.Context, c *api.Client, name string) ([]session.PendingAsk, error) {
	id, err := a.findIfNamed(ctx, c, name)
	if err != nil {
		return nil, err
	}
	asks, err := c.Asks(ctx, id)
	return append([]session.PendingAsk{}, asks...), err
}

func (a *app) permissionReply() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "reply ASK once|always|reject [REASON…]", Short: "Answer", Args: cobra.MinimumNArgs(2),
		Long: "Reply answers what waits. always also saves the permission for this project. reject with a reason lets the\n" +
			"model go on and tells it why; without one it stops the session's work.",
		Example: "  cairn permission reply per_… once\n  cairn permission reply per_… reject \"use the staging database\"",
		RunE: a.does(func(ctx context.Context, args []string) error {
			r := api.ReplyRequest{Reply: session.Reply(args[1]), Message: strings.Join(args[2:], " ")}
			switch r.Reply {
			case session.ReplyOnce, session.ReplyAlways:
				if r.Message != "" {
					return usagef("a reason goes with reject only")
				}
			case session.ReplyReject:
			default:
				return usagef("the answer must be once, always or reject, got %q", line(args[1], 40))
			}
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				asks, err := a.asks(ctx, c, "")
				if err != nil {
					return err
				}
				ask, err := findAsk(asks, args[0])
				if err != nil {
					return err
				}
				if err := c.Reply(ctx, ask.SessionID, ask.ID, r); err != nil {
					return err
				}
				a.changed(asJSON, change{SessionID: ask.SessionID, AskID: ask.ID, Reply: r.Reply}, "answered "+string(r.Reply)+": "+oneLine(ask))
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// findAsk finds an ask by id or by the beginning of it.
func findAsk(asks []session.PendingAsk, name string) (session.PendingAsk, error) {
	var found []session.PendingAsk
	ids := make([]string, len(asks))
	for i, ask := range asks {
		ids[i] = string(ask.ID)
		if ids[i] == name {
			return ask, nil
		}
		if len(name) >= 8 && strings.HasPrefix(ids[i], name) {
			found = append(found, ask)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return session.PendingAsk{}, &exit{
		exitUsage, session.NotFound("waiting permission", name, nearest(name, ids)...), "cairn permission list shows what waits",
	}
}

func (a *app) permissionApprovals() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List the saved permissions of this project", Args: cobra.NoArgs,
		Example: "  cairn permission approvals --all",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				list, err := approvals(ctx, c, all)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(append([]api.Approval{}, list...))
				}
				if len(list) == 0 {
					a.err.printf("No permissions are saved.\n")
					return nil
				}
				t := a.table("ID", "ACTION", "RESOURCE", "SINCE")
				for _, p := range list {
					t.row(p.ID, line(p.Action, 40), line(p.Resource, 80), ago(p.Time))
				}
				t.print()
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all projects")
	return cmd
}

// approvals returns the saved permissions that hold here, or all there are.
func approvals(ctx context.Context, c *api.Client, all bool) ([]api.Approval, error) {
	if all {
		return c.Approvals(ctx, "")
	}
	at, err := c.Location(ctx)
	if err != nil {
		return nil, err
	}
	return c.Approvals(ctx, at.Project.ID)
}

func (a *app) permissionRevoke() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "revoke APPROVAL…", Short: "Take saved permissions back", Args: cobra.MinimumNArgs(1),
		Example: "  cairn permission revoke psv_…",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				for _, id := range args {
					if err := c.Revoke(ctx, id); err != nil {
						return fmt.Errorf("revoke %s: %w", line(id, 60), err)
					}
					a.changed(asJSON, change{ApprovalID: id}, "")
				}
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
