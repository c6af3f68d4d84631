package inspect

import (
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

func (g promptCommands) skillCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "skill", Short: "List the skills of this directory",
		Long: "A skill is a folder with a SKILL.md: instructions for one kind of task, which an agent loads for such a\n" +
			"task. Skills are found in .cairn/skills, .opencode/skills, .claude/skills and .agents/skills, here and in " +
			"your home.",
	}, g.skillList())
}

func (g promptCommands) skillList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the skills, and the problems of invalid ones", Args: cobra.NoArgs,
		Example: "  cairn skill list --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			list, err := c.Skills(ctx)
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, list.Data, g.printSkills)
		}),
	})
}

func (g promptCommands) printSkills(list []api.Skill) {
	t, some := g.inv.NewTable("SKILL", "FOR", "FROM"), false
	for _, s := range list {
		if s.Problem == "" {
			t.AddRow(s.Name, terminal.FirstLine(s.Description, 60), terminal.FirstLine(s.Location, 120))
			some = true
		}
	}
	if some {
		t.Print()
	} else {
		g.inv.Err.Printf("No skills.\n")
	}
	for _, s := range list {
		if s.Problem != "" {
			g.inv.Err.Printf("%s %s\n", terminal.FirstLine(s.Location, 200), terminal.FirstLine(s.Problem, 300))
		}
	}
}
