package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// Interface is the full-screen interface as the root command opens it: by flags, in a directory, or with a prompt.
type Interface struct {
	inv   *cli.Invocation
	flags attachFlags
}

// NewInterface adds the flags of the interface to the root command.
func NewInterface(inv *cli.Invocation, root *cobra.Command) *Interface {
	i := &Interface{inv: inv, flags: attachFlags{given: root.Flags().Changed}}
	addInterfaceFlags(root, &i.flags)
	return i
}

// addInterfaceFlags adds the flags that the root command and tui share.
func addInterfaceFlags(cmd *cobra.Command, f *attachFlags) {
	fs := cmd.Flags()
	addContinueFlags(fs, f)
	fs.StringVarP(&f.model, "model", "m", "", "use the model `PROVIDER/MODEL[#VARIANT]` for the next prompt")
	fs.StringVar(&f.agent, "agent", "", "use the agent `AGENT` for the next prompt (see cairn agent list)")
	addEffortFlag(cmd, &f.effort, "use the reasoning effort `LEVEL` of the model for the next prompt")
	fs.StringVar(&f.prompt, "prompt", "", "send this `PROMPT` at once")
	cli.AddWorktreeFlag(fs, &f.worktree)
	cmd.MarkFlagsMutuallyExclusive("session", "worktree")
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
}

// AcceptArguments reports whether the arguments of the root command are for the interface, and keeps them: an existing
// directory, a prompt of two words or more in one argument, and any words after "--". dash is the number of arguments
// before "--", -1 without it. One unknown word is not a prompt, because a misspelt command would be paid for.
func (i *Interface) AcceptArguments(args []string, dash int) bool {
	before, prompt := args, ""
	if dash >= 0 {
		before, prompt = args[:dash], strings.Join(args[dash:], " ")
	}
	if len(before) > 0 && isDirectory(i.inv, before[0]) {
		i.flags.server.directory, before = before[0], before[1:]
	}
	if len(before) == 1 && prompt == "" && len(strings.Fields(before[0])) > 1 {
		prompt, before = before[0], nil
	}
	if prompt != "" {
		i.flags.prompt = prompt
	}
	return len(before) == 0
}

// IsWanted reports whether the command line asks for the interface, and not only for the name of the program.
func (i *Interface) IsWanted() bool {
	f := &i.flags
	return IsFullScreen(i.inv) || f.server.directory != "" || f.last || f.session != "" || f.model != "" ||
		f.agent != "" || f.effort != "" || f.prompt != "" || f.worktree != ""
}

// Run opens the interface.
func (i *Interface) Run(ctx context.Context) error {
	return attachCommand{i.inv}.runInterface(ctx, &i.flags)
}

// isDirectory reports whether the argument is the path of a directory.
func isDirectory(inv *cli.Invocation, arg string) bool {
	path, err := inv.ResolvePath(arg)
	if err != nil || path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// setPlace keeps the argument of tui: a directory, or the URL of a server.
func (f *attachFlags) setPlace(inv *cli.Invocation, arg string) error {
	switch {
	case arg == "":
		return nil
	case !isDirectory(inv, arg):
		if f.server.url = arg; !cli.IsURL(addScheme(arg)) {
			return cli.UsageErrorf("%q is neither a directory nor the URL of a server", terminal.FirstLine(arg, 200))
		}
		return nil
	case f.server.directory != "":
		return cli.UsageErrorf("the directory is given twice; omit --dir")
	}
	f.server.directory = arg
	return nil
}

// runInterface checks the flags and the terminal, and opens the full-screen interface.
func (g attachCommand) runInterface(ctx context.Context, f *attachFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if _, err := g.inv.ParseModelFlag(ctx, f.model); err != nil {
		return err
	}
	if terminal.IsTerminal(g.inv.Stdin) && g.inv.Env("TERM") == "dumb" {
		return cli.UsageErrorf("the full-screen interface cannot be shown on a dumb terminal (TERM); use cairn run, or " +
			"cairn attach --plain")
	}
	if !IsFullScreen(g.inv) {
		if f.prompt != "" {
			return cli.UsageErrorf("the full-screen interface needs a terminal; without one: cairn run %q",
				terminal.FirstLine(f.prompt, 200))
		}
		return cli.UsageErrorf("the full-screen interface needs a terminal; use cairn run, or cairn attach --plain")
	}
	return g.runFullScreen(ctx, f)
}

// resolveDirectory makes the directory of a cairn of this machine that of the worktree, if the flags ask for one, and
// the one without symbolic links, by which its sessions are listed.
func (f *attachFlags) resolveDirectory(ctx context.Context, inv *cli.Invocation) (err error) {
	if f.worktree != "" {
		if f.server.url != "" {
			return cli.UsageErrorf("--worktree makes a worktree on this machine; omit it, or the URL of the server")
		}
		f.here = f.here || f.last // --continue means a session of the worktree
		if f.server.directory, err = inv.EnterWorktree(ctx, f.server.directory, f.worktree); err != nil {
			return err
		}
	}
	if f.server.url != "" || f.server.directory == "" {
		return nil
	}
	o, err := inv.HostOptions(f.server.directory)
	if err != nil {
		return err
	}
	f.server.directory = o.Dir
	if real, err := filepath.EvalSymlinks(o.Dir); err == nil {
		f.server.directory = real
	}
	return nil
}

// checkAgent refuses an agent that prompts cannot have, before anything is sent.
func checkAgent(ctx context.Context, c *api.Client, name string) error {
	if name == "" {
		return nil
	}
	agents, err := c.Agents(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range agents.Data {
		if !a.IsSelectable() {
			continue
		}
		if a.ID == name {
			return nil
		}
		names = append(names, a.ID)
	}
	near := spelling.FindNearest(name, names, 3)
	if len(near) == 0 {
		near = names
	}
	return cli.NewExitError(cli.ExitUsage, session.NotFound("agent", name, near...), "cairn agent list shows the agents")
}
