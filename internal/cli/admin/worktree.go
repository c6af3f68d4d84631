package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// worktreeCommands are `cairn worktree …`.
type worktreeCommands struct{ inv *cli.Invocation }

func (g worktreeCommands) worktreeCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "worktree", Short: "Create, list, prepare, reset and remove git worktrees for sessions",
		Long: "A linked worktree of git is a directory with a branch of its own, so that sessions beside each other do not\n" +
			"change the same files. cairn run --worktree works in a new one. Worktrees are made below the configured\n" +
			"worktree.directory, and prepared by the command worktree.start, which a project's file sets once it is trusted.\n" +
			"What is not committed when the command begins is never deleted, but for files that git ignores. End editors,\n" +
			"shells and servers outside of cairn first: what they write into a worktree while it is removed may be lost.",
	}, g.listCommand(), g.createCommand(), g.prepareCommand(), g.resetCommand(), g.removeCommand())
}

func (g worktreeCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the linked worktrees of this repository", Args: cobra.NoArgs,
		Example: "  cairn worktree list",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			all, err := api.Worktrees{Client: c}.List(ctx)
			if err != nil {
				return err
			}
			return cli.List[api.Worktree]{
				Head: []string{"NAME", "BRANCH", "SESSIONS", "DIRECTORY"}, Row: formatWorktree,
				Empty: "This repository has no linked worktrees. To work in a new one: cairn run --worktree \"…\"",
			}.Print(g.inv, all)
		}),
	})
}

func formatWorktree(w api.Worktree) []string {
	directory := terminal.FirstLine(w.Directory, 200)
	if w.Missing {
		directory += " (is gone; if it was moved, run git worktree repair in its new place)"
	}
	if w.Problem != "" {
		directory += " (" + terminal.FirstLine(w.Problem, 200) + ")"
	}
	return []string{
		terminal.FirstLine(w.Name, 64), terminal.FirstLine(w.Branch, 64), fmt.Sprint(len(w.Sessions)), directory,
	}
}

func (g worktreeCommands) createCommand() *cobra.Command {
	n := api.NewWorktree{Prepare: true}
	cmd := &cobra.Command{
		Use: "create [NAME]", Short: "Make a worktree with a branch of its own", Args: cobra.MaximumNArgs(1),
		Example: "  cairn worktree create fix\n  cairn worktree create --from origin/main",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			n.Name = cli.FirstArg(args, "")
			made, err := api.Worktrees{Client: c}.Create(ctx, n)
			if err != nil {
				return err
			}
			g.inv.NoteUnprepared(made)
			if g.inv.JSON {
				return g.inv.PrintJSON(made)
			}
			g.inv.Out.Printf("%s\n", terminal.FirstLine(made.Directory, 400))
			return nil
		}),
	}
	cmd.Flags().StringVar(&n.From, "from", "", "start at this `BRANCH` or commit instead of HEAD")
	cmd.Flags().StringVar(&n.Branch, "branch", "", "call its `BRANCH` so, instead of cairn/NAME")
	cmd.Flags().StringVar(&n.Start, "start", "", "run this shell `COMMAND` in it, after the configured one")
	return g.inv.AddJSONFlag(cmd)
}

func (g worktreeCommands) prepareCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "prepare NAME|DIR", Short: "Run the commands that prepare a worktree again",
		Long: "Run the commands that prepare a worktree: the configured worktree.start, and what create --start named if that has\n" +
			"not succeeded. cairn worktree list says which worktrees are not prepared.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cli.FirstOnly(g.inv.Complete(cli.WorktreeCompletions)),
		Example: "  cairn worktree prepare fix",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := g.findWorktree(ctx, c, args[0])
			if err != nil {
				return err
			}
			done, err := api.Worktrees{Client: c}.Prepare(ctx, api.WorktreeName{Directory: w.Directory})
			if err == nil && done.Problem != "" {
				err = fmt.Errorf("the worktree could not be prepared: %s", done.Problem)
			}
			if err != nil {
				return err
			}
			g.inv.NoteUnprepared(done)
			if g.inv.JSON {
				return g.inv.PrintJSON(done)
			}
			g.inv.Out.Printf("prepared %s\n", terminal.FirstLine(w.Directory, 200))
			return nil
		}),
	})
}

func (g worktreeCommands) removeCommand() *cobra.Command {
	var force bool
	cmd := g.newChange("removed", func(ctx context.Context, w api.Worktrees, dir string) (api.SavedWork, error) {
		return w.Remove(ctx, api.WorktreeName{Directory: dir, Force: force})
	})
	cmd.Use, cmd.Short = "remove NAME|DIR", "Remove a worktree, and its branch if another one has its commits"
	cmd.Long = "Remove a worktree in which no session, job or terminal works, and its branch if another one has its commits. With\n" +
		"uncommitted changes it stays; --force saves them as a commit under a reference of git, which is printed, and removes\n" +
		"it. During the removal its directory is called DIR.removed-by-cairn. One that was cut off is completed by the same\n" +
		"command, or taken back if there is new work."
	cmd.Example = "  cairn worktree remove fix"
	cmd.Flags().BoolVar(&force, "force", false, "save uncommitted changes under a reference, and remove it")
	return cmd
}

func (g worktreeCommands) resetCommand() *cobra.Command {
	cmd := g.newChange("reset", func(ctx context.Context, w api.Worktrees, dir string) (api.SavedWork, error) {
		return w.Reset(ctx, api.WorktreeName{Directory: dir})
	})
	cmd.Use, cmd.Short = "reset NAME|DIR", "Make a worktree as the newest commit of the default branch"
	cmd.Long = "Make a worktree in which no session works, and its branch, as the newest commit of the default branch. With\n" +
		"uncommitted changes nothing happens. Commits that no other branch has are saved under a reference of git."
	cmd.Example = "  cairn worktree reset fix"
	return cmd
}

// newChange returns a command that changes the worktree of its argument, and says in the past tense that it did.
func (g worktreeCommands) newChange(
	did string, change func(ctx context.Context, w api.Worktrees, directory string) (api.SavedWork, error),
) *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Args: cobra.ExactArgs(1), ValidArgsFunction: cli.FirstOnly(g.inv.Complete(cli.WorktreeCompletions)),
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := g.findWorktree(ctx, c, args[0])
			if err != nil {
				return err
			}
			saved, err := change(ctx, api.Worktrees{Client: c}, w.Directory)
			return g.report(saved, err, did+" "+terminal.FirstLine(w.Directory, 200))
		}),
	})
}

// report prints what was done, and where work is kept.
func (g worktreeCommands) report(saved api.SavedWork, err error, done string) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Field == "force" {
		return cli.NewExitError(cli.CodeOf(err), err, "--force saves them under a reference of git and removes the worktree")
	}
	if err != nil {
		return err
	}
	if g.inv.JSON {
		return g.inv.PrintJSON(saved)
	}
	g.inv.Out.Printf("%s\n", done)
	if saved.Ref != "" {
		g.inv.Note(fmt.Sprintf("its work is saved; to see it: git show %s", saved.Ref))
	}
	if saved.Branch != "" {
		g.inv.Note(fmt.Sprintf("the branch %s stays: it has commits that no other one has", terminal.FirstLine(saved.Branch, 100)))
	}
	return nil
}

// findWorktree returns the worktree of a name or of a directory.
func (g worktreeCommands) findWorktree(ctx context.Context, c *api.Client, name string) (api.Worktree, error) {
	all, err := api.Worktrees{Client: c}.List(ctx)
	if err != nil {
		return api.Worktree{}, err
	}
	path, err := g.inv.ResolvePath(name)
	if err != nil {
		return api.Worktree{}, err
	}
	// A directory names one of them, a name perhaps several.
	var names []string
	var named []api.Worktree
	for _, w := range all {
		if w.Directory == path {
			return w, nil
		}
		if w.Name == name {
			named = append(named, w)
		}
		names = append(names, w.Name)
	}
	switch len(named) {
	case 0:
		return api.Worktree{}, session.NotFound("worktree", name, names...)
	case 1:
		return named[0], nil
	default:
		return api.Worktree{}, cli.UsageErrorf("several worktrees are called %s; give the directory of one, such as %s",
			terminal.FirstLine(name, 64), terminal.FirstLine(named[0].Directory, 200))
	}
}
