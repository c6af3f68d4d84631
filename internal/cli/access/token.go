package access

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// tokenCommands are `cairn token …`.
type tokenCommands struct{ inv *cli.Invocation }

const tokenHelp = `A token lets a client call the server without the password and do only what its scope allows.
Each scope includes those before it:

  read     read sessions, files, settings and events
  prompt   create sessions, prompt, interrupt, edit and delete them
  approve  answer asks, change what a session may do, run commands and apply patches without an ask
  admin    change settings and keys, open terminals

Clients send it as Authorization: Bearer TOKEN, or as the password of any user: --password of cairn and opencode.`

func (g tokenCommands) tokenCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "token", Short: "Manage tokens of clients of the server", Long: tokenHelp,
		Example: "  cairn token create --scope read --name dashboard\n  cairn token list\n  cairn token revoke 1f0c8a2e",
	}, g.createCommand(), g.listCommand(), g.revokeCommand())
}

// createdToken is the output of create --json.
type createdToken struct {
	accesstoken.Record

	Token string `json:"token"`
}

// createCommand returns the command that creates a token. The token goes to stdout, alone, and everything about it to
// stderr.
func (g tokenCommands) createCommand() *cobra.Command {
	var scope, name, expires string
	cmd := &cobra.Command{
		Use: "create --scope SCOPE", Short: "Create a token and print it, once", Args: cobra.NoArgs,
		Long: "Create a token and print it. Only its hash is stored, so it cannot be shown again. A running server\n" +
			"accepts it at once. See cairn token --help for the scopes.",
		Example: "  cairn token create --scope read --name dashboard --expires 30d\n" +
			"  cairn token create --scope approve --expires never",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			// Check the flags before the file of tokens is opened.
			s, err := caller.ParseRole(scope)
			if err != nil {
				return cli.UsageErrorf("--scope must be read, prompt, approve or admin, got %q", scope)
			}
			life, err := parseLife(expires)
			if err != nil {
				return err
			}
			file, err := g.openTokens()
			if err != nil {
				return err
			}
			t, text, err := file.Create(ctx, s, name, life)
			if err != nil {
				return err
			}
			// Print the token. The file has only its hash, so this is the only time.
			if g.inv.JSON {
				return g.inv.PrintJSON(createdToken{t, text})
			}
			g.inv.Out.Printf("%s\n", text)
			g.inv.Err.Printf("It is not shown again. To end it: cairn token revoke %s\n", t.ID)
			return nil
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "what the token may do: `SCOPE` is read, prompt, approve or admin")
	cmd.Flags().StringVar(&name, "name", "", "a `NAME` for lists")
	cmd.Flags().StringVar(&expires, "expires", "30d", "end the token after `DURATION`, like 12h or 30d, or never")
	_ = cmd.MarkFlagRequired("scope") // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(
		[]string{"read", "prompt", "approve", "admin"}, cobra.ShellCompDirectiveNoFileComp,
	))
	return g.inv.AddJSONFlag(cmd)
}

// maxLife bounds what --expires takes.
const maxLife = 10 * 365 * 24 * time.Hour

// parseLife parses how long a token is valid; 0 is without end.
func parseLife(s string) (time.Duration, error) {
	if s == "never" {
		return 0, nil
	}
	life, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); n <= int(maxLife/(24*time.Hour)) {
			life = time.Duration(n) * 24 * time.Hour
		}
	}
	if err != nil || life < time.Second || life > maxLife {
		return 0, cli.UsageErrorf("--expires must be never or a duration like 12h or 30d, at most 3650d, got %q", s)
	}
	return life, nil
}

func (g tokenCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Short: "List the tokens", Args: cobra.NoArgs, Example: "  cairn token list",
		RunE: g.inv.Action(func(context.Context, []string) error {
			file, err := g.openTokens()
			if err != nil {
				return err
			}
			list, err := file.List()
			if err != nil {
				return err
			}
			return cli.List[accesstoken.Record]{
				Head: []string{"ID", "NAME", "SCOPE", "CREATED", "LAST USED", "EXPIRES"},
				Row: func(r accesstoken.Record) []string {
					created, used, expires := formatTime(r.Created), formatTime(r.Used), formatTime(r.Expires)
					return []string{r.ID, terminal.FirstLine(r.Name, 40), r.Role.String(), created, used, expires}
				},
			}.Print(g.inv, list)
		}),
	})
}

func formatTime(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04")
}

func (g tokenCommands) revokeCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "revoke ID", Short: "End a token at once", Args: cobra.ExactArgs(1), Example: "  cairn token revoke 1f0c8a2e",
		ValidArgsFunction: g.completeTokens,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			file, err := g.openTokens()
			if err != nil {
				return err
			}
			err = cli.AddNotFoundHint(file.Revoke(ctx, args[0]), "cairn token list shows the tokens")
			return g.inv.FinishChange(err, cli.Change{TokenID: args[0]}, "Revoked. Its streams end within a few seconds.")
		}),
	})
}

func (g tokenCommands) completeTokens(
	_ *cobra.Command, args []string, typed string,
) (ids []cobra.Completion, files cobra.ShellCompDirective) {
	file, err := g.openTokens()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := file.List() // without an answer nothing is offered
	for _, t := range list {
		if strings.HasPrefix(t.ID, typed) {
			ids = append(ids, cobra.CompletionWithDesc(t.ID, strings.TrimSpace(t.Role.String()+" "+t.Name)))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (g tokenCommands) openTokens() (*accesstoken.File, error) {
	dirs, err := config.FindDirectories(g.inv.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return accesstoken.New(dirs.Data), nil
}
