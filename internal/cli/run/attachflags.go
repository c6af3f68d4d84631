package run

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// attachCommand is `cairn attach`.
type attachCommand struct{ inv *cli.Invocation }

// attachFlags are the flags of attach.
type attachFlags struct {
	server  serverFlags
	sandbox session.SandboxMode
	session string

	model, agent, effort, prompt, worktree string // of the full-screen interface

	last, here         bool
	noReplay           bool
	fork, asJSON, mini bool
	plain              bool // lines on a terminal
	history            int  // messages that are shown first; negative: the last prompt and what followed
	given              func(name string) bool
}

// addContinueFlags adds the flags that name the session to continue.
func addContinueFlags(fs *pflag.FlagSet, f *attachFlags) {
	fs.StringVarP(&f.session, "session", "s", "", "continue the session with this `ID`")
	fs.BoolVarP(&f.last, "continue", "c", false, "continue the newest session of the repository")
	fs.BoolVar(&f.here, "here", false, "with --continue, look at the sessions of exactly this directory only")
}

// addServerFlags adds the flags of a session of a server, which attach and tui share.
func (g attachCommand) addServerFlags(cmd *cobra.Command, f *attachFlags) {
	f.server.addCredentials(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.server.directory, "dir", "", "work in this `DIRECTORY` of the server's machine")
	fs.IntVar(
		&f.history,
		"replay-limit",
		-1,
		"show the newest `N` messages first (default: the last prompt and its answer)",
	)
	fs.Lookup("replay-limit").DefValue = "0" // hides the default in the help: no number means it
	fs.BoolVar(&f.noReplay, "no-replay", false, "show no earlier messages")
	fs.BoolVar(&f.fork, "fork", false, "")
	fs.BoolVar(&f.mini, "mini", false, "")
	cli.AddSandboxFlag(cmd, &f.sandbox, "confine the commands of new sessions, and refuse others")
	fs.BoolVar(&f.asJSON, "json", false, "")
	cli.HideFlags(fs, "fork", "mini", "json") // OpenCode's; the first and the last are refused
}

// check rejects flags that are invalid by themselves.
func (f *attachFlags) check() error {
	switch {
	case f.asJSON:
		return cli.UsageErrorf("--json is not supported; for programs, use cairn run --attach URL --format json")
	case f.fork:
		return cli.UsageErrorf("--fork is not supported; fork the session with cairn session fork, and attach to the copy")
	case f.given("replay-limit") && f.history < 0:
		return cli.UsageErrorf("--replay-limit must be 0 or more, got %d", f.history)
	case f.session != "":
		return cli.CheckSessionName("--session", f.session)
	}
	return nil
}

// withServer calls f with a client of the server, or of the cairn of this machine if no URL is given.
func (g attachCommand) withServer(
	ctx context.Context,
	server *serverFlags,
	f func(context.Context, *api.Client) error,
) error {
	if server.url != "" {
		conn, err := server.connect(ctx, g.inv)
		if err != nil {
			return err
		}
		return f(ctx, conn.API)
	}
	o, err := g.inv.HostOptions(server.directory)
	if err != nil {
		return err
	}
	o.Detach = server.detach
	return g.inv.WithHostClient(ctx, o, func(ctx context.Context, c *api.Client) error {
		if g.inv.Owner != "" {
			list, err := c.Models(ctx)
			if err != nil {
				return err
			}
			g.inv.NoteOwnKeys(g.inv.Owner, "", list.Data)
		}
		return f(ctx, c)
	})
}

// findAttached returns the session to continue, nil for a new one.
func findAttached(ctx context.Context, c *api.Client, f *attachFlags, note func(string)) (*session.Session, error) {
	switch {
	case f.last, f.session == "last":
		return cli.FindNewest(ctx, c, cli.Newest{
			Here: f.here, Continue: true, Verb: "continuing ", Hint: "omit --continue and --session to start one",
		}, note)
	case f.session != "":
		s, err := c.Session(ctx, session.ID(f.session))
		return s, cli.WithNearestSessions(ctx, c, err)
	default:
		return nil, nil
	}
}

func attachTo(server *serverFlags, id session.ID) string {
	words := slices.DeleteFunc(
		[]string{"cairn attach", server.publicURL(), "-s", string(id)},
		func(w string) bool { return w == "" },
	)
	return strings.Join(words, " ")
}
