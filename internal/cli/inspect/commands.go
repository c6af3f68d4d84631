package inspect

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// promptCommands list the commands and skills of a directory.
type promptCommands struct{ inv *cli.Invocation }

func (g promptCommands) commandCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "command", Short: "List the commands of this directory",
		Long: "A command is a prompt with a name. cairn run --command NAME ARGUMENTS runs it, with the arguments in\n" +
			"place of $1, $2 and $ARGUMENTS. Commands are built in, Markdown files in .cairn/command, or part of the\n" +
			"configuration. A project's commands that run programs need trust.",
	}, g.commandList())
}

func (g promptCommands) commandList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the commands", Args: cobra.NoArgs, Example: "  cairn command list",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			list, err := c.Commands(ctx)
			if err != nil {
				return err
			}
			return cli.List[api.Command]{
				Head: []string{"COMMAND", "FROM", "FOR"},
				Row: func(c api.Command) []string {
					usage := strings.Join(append([]string{c.Name}, c.Hints...), " ")
					return []string{terminal.FirstLine(usage, 50), c.Source, terminal.FirstLine(c.Description, 80)}
				},
			}.Print(g.inv, list.Data)
		}),
	})
}
