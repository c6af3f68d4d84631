// Package share holds the commands that share sessions, list shares and revoke them.
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

// shareCommand returns the command that shares a session, with its subcommands.
func (g shareCommands) shareCommand() *cobra.Command {
	var expires string
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use: "share SESSION", Short: "Share a session at an unguessable address", Args: cobra.ExactArgs(1),
		Long: "Share a session at an unguessable address. Anyone with the address can read the session, including later messages,\n" +
			"until the share is revoked or expires. Text that looks like a secret is replaced; the command shows it before it asks.\n\n" +
			"Sessions are uploaded to the server sharing.target in your configuration, which speaks OpenCode's share protocol.\n" +
			"There they expire while cairn runs, or when it runs next. Without that setting, cairn share serve shows them.",
		Example: "  cairn share last\n  cairn share last --expires 7d --yes\n  cairn share last --dry-run",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			expiry, err := parseExpiry(expires, time.Now())
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
					What: "share " + terminal.FirstLine(describe.SessionTitle(s), 80), Hint: "--yes shares without a question",
				})
				if err != nil {
					return err
				}
			}
			out, err := c.ShareSession(ctx, s.ID, api.ShareRequest{Expires: expiry.Milliseconds()})
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, out, g.printShare)
		}),
	}
	cmd.Flags().StringVar(&expires, "expires", "", "revoke the share after this `TIME`, such as 7d or 12h, or on a date; default: sharing.expires, or never")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "share without a question")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be replaced, and share nothing")
	cmd.AddCommand(g.listCommand(), g.revokeCommand(), g.serveCommand())
	return g.inv.AddJSONFlag(cmd)
}

// parseExpiry reads the time until a share expires: a duration such as 7d, or a future date; "" is 0.
func parseExpiry(text string, now time.Time) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	at, err := cli.ParseTime("expires", text, now)
	expiry := now.Sub(at)
	if _, notDate := time.Parse(time.DateOnly, text); notDate == nil {
		expiry = at.Sub(now)
	}
	if err != nil || expiry < api.MinShareTime || expiry > api.MaxShareTime {
		return 0, cli.UsageErrorf("--expires takes a time from a minute to 100 years, such as 7d or 12h, or a future date, got %q", text)
	}
	return expiry, nil
}

// sharePreview is what --dry-run prints.
type sharePreview struct {
	Replacements []api.Replacement `json:"replacements"`
}

// findReplacements returns what sharing the session would replace.
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
		out.Printf("No text looks like a secret, so nothing is replaced.\n")
	}
	out.Printf("Everything else is shared: prompts, answers, output of commands, paths.\n")
}

func (g shareCommands) printShare(s api.Share) {
	g.inv.Out.Printf("%s\n", s.URL)
	if s.Target == "" {
		g.inv.Note("cairn share serve shows the session at this address")
	}
	if s.Expires > 0 {
		note := "the share expires at " + time.UnixMilli(s.Expires).Format(time.DateTime)
		if s.Target != "" {
			note += ", or when cairn runs next after that"
		}
		g.inv.Note(note)
	}
	g.inv.Note("anyone with the address can read the session; to revoke the share: cairn share revoke " + string(s.SessionID))
}

func (g shareCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List shared sessions and shares that are being revoked", Args: cobra.NoArgs,
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
		Use: "revoke SESSION", Aliases: []string{"rm"}, Short: "Revoke the share of a session", Args: cobra.ExactArgs(1),
		Long: "Revoke the share of a session. A share server is asked to delete it, and then checked. Copies that readers made are\n" +
			"not affected. If the server does not confirm the deletion, cairn retries for 30 days, even after the session is deleted.",
		Example: "  cairn share revoke last",
		RunE: g.inv.DeleteAction(func(ctx context.Context, c *api.Client, args []string) error {
			id, err := g.findShared(ctx, c, args[0])
			if err != nil {
				return err
			}
			result, err := c.RevokeShare(ctx, id)
			if err != nil {
				return err
			}
			if !result.Revoked {
				return cli.NewExitError(cli.ExitFailure, fmt.Errorf("the revocation of the share of %s is not complete: %s", id, result.Failure),
					"cairn retries for 30 days; see cairn share list")
			}
			return g.inv.FinishChange(nil, cli.Change{SessionID: id}, "The share is revoked.")
		}),
	}
	return g.inv.AddJSONFlag(cmd)
}

// findShared returns the id of a session that is shared or says so; a deleted session may still have a share.
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
	isShared := slices.ContainsFunc(all, func(e api.Share) bool { return e.SessionID == s.ID })
	if !isShared && s.Share == nil { // one whose share was lost says that it is shared
		return "", cli.NewExitError(cli.ExitUsage, fmt.Errorf("session %s is not shared", s.ID), "cairn share list shows the shares")
	}
	return s.ID, nil
}
