// Package share holds the commands that publish sessions and withdraw them again.
package share

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// Commands are the commands for shared sessions.
func Commands(inv *cli.Invocation) []*cobra.Command {
	g := shareCommands{inv}
	return []*cobra.Command{g.shareCommand()}
}

type shareCommands struct{ inv *cli.Invocation }

// shareCommand publishes a session, and holds the other commands.
func (g shareCommands) shareCommand() *cobra.Command {
	var expires string
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use: "share SESSION", Short: "Share a session at an unguessable address", Args: cobra.ExactArgs(1),
		Long: "Share a session at an unguessable address. Anyone with the address can read the session, including later messages,\n" +
			"until the share is revoked or expires. What looks like a secret is replaced; the command shows it before it asks.\n\n" +
			"Sessions go to the server of sharing.target in your configuration, which speaks OpenCode's protocol. Without one\n" +
			"cairn share serve shows them.",
		Example: "  cairn share last\n  cairn share last --expires 7d --yes\n  cairn share last --dry-run",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			span, err := parseSpan(expires, time.Now())
			if err != nil {
				return err
			}
			s, err := g.inv.FindSession(ctx, c, args[0])
			if err != nil {
				return err
			}
			preview, err := g.findReplacements(ctx, c, s.ID)
			if err != nil {
				return err
			}
			if dryRun {
				return cli.PrintResult(g.inv, preview, func(p sharePreview) { g.printPreview(s, p) })
			}
			if !g.inv.JSON {
				g.printPreview(s, preview)
			}
			if !yes {
				err := g.inv.Confirm(ctx, cli.Confirmation{
					What: "publish " + terminal.FirstLine(describe.SessionTitle(s), 80), Hint: "--yes publishes without a question",
				})
				if err != nil {
					return err
				}
			}
			out, err := c.ShareSession(ctx, s.ID, api.ShareRequest{Expires: span.Milliseconds()})
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, out, g.printShare)
		}),
	}
	cmd.Flags().StringVar(&expires, "expires", "", "withdraw it after this `TIME`, such as 7d or 12h, or on a date; default: as configured, or never")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "publish without a question")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be replaced, and publish nothing")
	cmd.AddCommand(g.listCommand(), g.revokeCommand(), g.serveCommand())
	return g.inv.AddJSONFlag(cmd)
}

// parseSpan reads the time after which a share ends: an age such as 7d, or a date to come; "" is 0.
func parseSpan(text string, now time.Time) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	at, err := cli.ParseTime("expires", text, now)
	span := now.Sub(at)
	if _, notDate := time.Parse(time.DateOnly, text); notDate == nil {
		span = at.Sub(now)
	}
	if err != nil || span < api.MinShareTime || span > api.MaxShareTime {
		return 0, cli.UsageErrorf("--expires takes a time from a minute to 100 years, such as 7d or 12h, or a date to come, got %q", text)
	}
	return span, nil
}

// sharePreview is what --dry-run prints.
type sharePreview struct {
	Replacements []api.Replacement `json:"replacements"`
}

// findReplacements returns what is replaced before anything leaves.
func (g shareCommands) findReplacements(ctx context.Context, c *api.Client, id session.ID) (p sharePreview, err error) {
	known, err := g.inv.CollectSecrets(ctx)
	if err == nil {
		p.Replacements, err = transfer.PreviewShare(ctx, c, id, known)
	}
	return p, err
}

func (g shareCommands) printPreview(s *session.Session, p sharePreview) {
	out := g.inv.Err
	out.Printf("%s  %s\n", s.ID, terminal.FirstLine(describe.SessionTitle(s), 80))
	for _, r := range p.Replacements {
		out.Printf("%s: %s, replaced; the first one: ", r.Kind, terminal.FormatPlural(r.Count, "text"))
		out.WriteText(r.Excerpt + "\n")
	}
	if len(p.Replacements) == 0 {
		out.Printf("No text looks like a secret.\n")
	}
	out.Printf("All else is published: prompts, answers, output of commands, paths.\n")
}

func (g shareCommands) printShare(s api.Share) {
	g.inv.Out.Printf("%s\n", s.URL)
	if s.Target == "" {
		g.inv.Note("cairn share serve shows it at this address")
	}
	if s.Expires > 0 {
		g.inv.Note("it is withdrawn at " + time.UnixMilli(s.Expires).Format(time.DateTime))
	}
	g.inv.Note("anyone with the address can read the session; to withdraw it: cairn share revoke " + string(s.SessionID))
}

func (g shareCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what is shared, and what is to be withdrawn", Args: cobra.NoArgs,
		Example: "  cairn share list",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			all, err := c.Shares(ctx)
			if err != nil {
				return err
			}
			return cli.List[api.Share]{
				Head: []string{"SESSION", "STATE", "SINCE", "UNTIL", "ADDRESS"}, Row: formatShare,
				Empty: "No session is shared. To share one: cairn share last",
			}.Print(g.inv, all)
		}),
	})
}

func formatShare(s api.Share) []string {
	until, address := "", terminal.FirstLine(s.URL, 200)
	if s.Expires > 0 {
		until = time.UnixMilli(s.Expires).Format(time.DateTime)
	}
	if s.Failure != "" {
		address += " (" + terminal.FirstLine(s.Failure, 200) + ")"
	}
	return []string{string(s.SessionID), string(s.State), terminal.FormatAge(s.Created), until, address}
}

func (g shareCommands) revokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke SESSION", Aliases: []string{"rm"}, Short: "Withdraw the share of a session", Args: cobra.ExactArgs(1),
		Long: "Withdraw the share of a session, and look whether its server shows it no more. What somebody has read or copied\n" +
			"stays with them. A server that cannot be reached is tried again for 30 days, also if the session is deleted.",
		Example: "  cairn share revoke last",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			id, err := g.findShared(ctx, c, args[0])
			if err != nil {
				return err
			}
			left, err := c.UnshareSession(ctx, id)
			if err != nil {
				return err
			}
			if !left.Gone {
				return cli.NewExitError(cli.ExitFailure, fmt.Errorf("the share of %s is not gone yet: %s", id, left.Failure),
					"it is tried again while cairn runs; cairn share list shows when it is gone")
			}
			return g.inv.FinishChange(nil, cli.Change{SessionID: id}, "The session is not shared any more.")
		}),
	}
	return g.inv.AddJSONFlag(cmd)
}

// findShared finds a session that may be deleted and still have a share.
func (g shareCommands) findShared(ctx context.Context, c *api.Client, name string) (session.ID, error) {
	all, err := c.Shares(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(s api.Share) bool { return string(s.SessionID) == name }) {
		return session.ID(name), nil
	}
	s, err := g.inv.FindSession(ctx, c, name)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}
