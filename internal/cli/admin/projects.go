package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// projectCommands are `cairn project …`.
type projectCommands struct{ inv *cli.Invocation }

func (g projectCommands) projectCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "project", Short: "List, name, bind and forget the projects that sessions and approvals belong to",
		Long: "A project is a git repository with its worktrees, or a directory outside of git. Its record keeps its\n" +
			"sessions and saved permissions together, also after a rename or a move. A clone is a project of its own.\n\n" +
			"A PROJECT is the id of a record, the beginning of one, a name, or a directory.",
	}, g.projectList(), g.projectShow(), g.projectRename(), g.projectRebind(), g.projectForget())
}

func (g projectCommands) projectList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the projects, the last active first", Args: cobra.NoArgs,
		Example: "  cairn project list\n  cairn project list --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			list, err := c.Projects(ctx)
			if err != nil {
				return err
			}
			slices.SortStableFunc(list, func(a, b api.ProjectRecord) int { return cmp.Compare(b.Time.Active, a.Time.Active) })
			return cli.List[api.ProjectRecord]{
				Head:  []string{"ID", "NAME", "ACTIVE", "DIRECTORY", "NOTE"},
				Row:   formatProject,
				Empty: "No projects are known. A directory becomes one when cairn works in it.",
			}.Print(g.inv, list)
		}),
	})
}

// formatProject returns the row of a project.
func formatProject(p api.ProjectRecord) []string {
	note := describePresence(p)
	if note == "" && p.VCS == "" {
		note = "not a git repository"
	}
	return []string{
		string(p.RecordID), terminal.FirstLine(p.Name, 40), terminal.FormatAge(p.Time.Active),
		terminal.FirstLine(p.Canonical, 100), note,
	}
}

// unlinkedNote says what to do in a working tree that its repository does not know.
const unlinkedNote = ".git names a repository that does not know this directory: if a worktree was moved, run git worktree " +
	"repair in it; if the repository was moved, run git worktree repair DIR there"

// describePresence says what is wrong with the place of a project; "" if nothing is.
func describePresence(p api.ProjectRecord) string {
	switch {
	case p.Missing:
		return "the directory is gone: cairn project rebind binds it to another one"
	case p.Replaced:
		return "perhaps something else is there now: cairn checks that when it works there"
	case p.Unlinked:
		return unlinkedNote
	default:
		return ""
	}
}

func (g projectCommands) projectShow() *cobra.Command {
	return g.complete(&cobra.Command{
		Use: "show [PROJECT]", Short: "Show a project, without an argument that of this directory", Args: cobra.MaximumNArgs(1),
		Example: "  cairn project show\n  cairn project show prj_… --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			found, err := g.inv.FindProject(ctx, c, cli.FirstArg(args, ""))
			if err != nil {
				return err
			}
			p, err := c.Project(ctx, session.ProjectID(found))
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, p, g.printProject)
		}),
	})
}

func (g projectCommands) printProject(p api.ProjectRecord) {
	line := func(label, value string) {
		if value != "" {
			g.inv.Out.Printf("%-11s %s\n", label, terminal.FirstLine(value, 300))
		}
	}
	line("project", string(p.RecordID))
	line("name", p.Name)
	line("directory", p.Canonical)
	line("note", describePresence(p))
	for _, dir := range p.Sandboxes {
		line("worktree", dir)
	}
	line("root commit", p.Root)
	line("remote", p.Remote)
	line("OpenCode id", string(p.ID))
	sessions := terminal.FormatPlural(p.Sessions, "session")
	if p.Sessions == api.MaxElsewhere {
		sessions = "at least " + sessions
	}
	line("has", sessions+", "+terminal.FormatPlural(p.Approvals, "saved permission"))
	line("opened", terminal.FormatAge(p.Time.Created))
	line("active", terminal.FormatAge(p.Time.Active))
}

func (g projectCommands) projectRename() *cobra.Command {
	return g.complete(&cobra.Command{
		Use: "rename PROJECT NAME", Short: "Name a project, or remove its name with an empty one", Args: cobra.ExactArgs(2),
		Example: "  cairn project rename . \"Payment service\"\n  cairn project rename prj_… \"\"",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			id, err := g.inv.FindProject(ctx, c, args[0])
			if err != nil {
				return err
			}
			_, err = c.ChangeProject(ctx, session.ProjectID(id), api.ProjectPatch{Name: &args[1]})
			return g.inv.FinishChange(err, cli.Change{RecordID: id}, "")
		}),
	})
}

func (g projectCommands) projectRebind() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rebind PROJECT [DIR]", Short: "Bind a project to another directory, by default this one",
		Long: "Bind a project to a directory: its sessions and saved permissions are then those of the repository there.\n" +
			"cairn finds a project again by itself after a rename or a move on one disk. After a move to another disk or a\n" +
			"fresh clone this does it. The sessions of the project that the directory was until then join it; its saved\n" +
			"permissions are removed, which asks first.",
		Args: cobra.RangeArgs(1, 2), Example: "  cairn project rebind prj_…\n  cairn project rebind /old/place ~/new/place",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			// Find the project and the directory.
			id, err := g.inv.FindProject(ctx, c, args[0])
			if err != nil {
				return err
			}
			dir := g.inv.Dir
			if len(args) == 2 {
				dir = g.inv.AbsolutePath(args[1])
			}
			// Ask before saved permissions are removed with the record of the directory.
			if !yes {
				if err := g.confirmRebind(ctx, c, id, dir); err != nil {
					return err
				}
			}
			p, err := c.ChangeProject(ctx, session.ProjectID(id), api.ProjectPatch{Canonical: &dir})
			err = g.inv.FinishChange(err, cli.Change{RecordID: id},
				fmt.Sprintf("the project %s is now that of %s", id, terminal.FirstLine(p.Canonical, 200)))
			if err == nil && len(p.Dropped) > 0 {
				g.inv.Note(describeRemoved(p.Dropped) + " removed")
			}
			return err
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove saved permissions of the directory without a question")
	return g.complete(cmd)
}

// confirmRebind asks the person if the change would remove saved permissions.
func (g projectCommands) confirmRebind(ctx context.Context, c *api.Client, id session.RecordID, dir string) error {
	tried, err := c.ChangeProject(ctx, session.ProjectID(id), api.ProjectPatch{Canonical: &dir, DryRun: true})
	if err != nil || len(tried.Dropped) == 0 {
		return err
	}
	return g.inv.Confirm(ctx, cli.Confirmation{
		What: fmt.Sprintf("bind the project %s to %s, and remove %s that hold there now", id, terminal.FirstLine(dir, 200),
			describeRemoved(tried.Dropped)),
		Hint: "Use --yes to remove them.",
	})
}

// describeRemoved counts saved permissions and names the first ones.
func describeRemoved(all []api.Approval) string {
	const most = 5
	names := []string{}
	for _, a := range all[:min(len(all), most)] {
		names = append(names, terminal.FirstLine(a.Action+" "+a.Resource, 100))
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("%d more", len(all)-most))
	}
	return terminal.FormatPlural(len(all), "saved permission") + " (" + strings.Join(names, ", ") + ")"
}

func (g projectCommands) projectForget() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "forget PROJECT", Short: "Delete a project's record and saved permissions, but none of its sessions",
		Long: "Delete the record of a project with its name and its saved permissions. No session is deleted: when cairn works\n" +
			"in their directory again, they belong to its new record.",
		Args: cobra.ExactArgs(1), Example: "  cairn project forget prj_…",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			id, err := g.inv.FindProject(ctx, c, args[0])
			if err != nil {
				return err
			}
			// The id names one project for certain; a name or a directory may be mistyped.
			if !yes && args[0] != string(id) {
				q := cli.Confirmation{
					What: "forget the project " + string(id) + " and its saved permissions",
					Hint: "Use --yes, or give the full id of the project.",
				}
				if err := g.inv.Confirm(ctx, q); err != nil {
					return err
				}
			}
			err = c.ForgetProject(ctx, id)
			return g.inv.FinishChange(err, cli.Change{RecordID: id}, "forgot the project "+string(id))
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "forget without a question")
	return g.complete(cmd)
}

// complete adds --json and the completion of a project.
func (g projectCommands) complete(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = cli.FirstOnly(g.inv.Complete(cli.ProjectCompletions))
	return g.inv.AddJSONFlag(cmd)
}
