package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
)

func (a *app) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "skill", Short: "List the skills that agents can load here",
		Long: "A skill is a folder with a SKILL.md: instructions for a special kind of task, which an agent loads when it fits.\n" +
			"They are found in .cairn/skills, .opencode/skills, .claude/skills and .agents/skills, here and in your home.",
	}
	cmd.AddCommand(a.skillList())
	return parent(cmd)
}

func (a *app) skillList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List them, and what is wrong with some", Args: cobra.NoArgs,
		Example: "  cairn skill list --json",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				list, err := c.Skills(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(append([]api.Skill{}, list.Data...))
				}
				a.printSkills(list.Data)
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) printSkills(list []api.Skill) {
	t, some := a.table("SKILL", "FOR", "FROM"), false
	for _, s := range list {
		if s.Problem == "" {
			t.row(s.Name, line(s.Description, 60), line(s.Location, 120))
			some = true
		}
	}
	if some {
		t.print()
	} else {
		a.err.printf("There are no skills here.\n")
	}
	for _, s := range list {
		if s.Problem != "" {
			a.err.printf("%s %s\n", line(s.Location, 200), line(s.Problem, 300))
		}
	}
}
