package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) commandCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "command", Short: "List the prompts with a name that can be run here",
		Long: "A command is a prompt with a name: cairn run --command NAME gives it, with what you type behind the name in\n" +
			"its places $1, $2 and $ARGUMENTS. Some are built in; others are Markdown files in .cairn/command, or stand in\n" +
			"the configuration. Those of a project that have something run need trust.",
	}
	cmd.AddCommand(a.commandList())
	return parent(cmd)
}

func (a *app) commandList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List them", Args: cobra.NoArgs, Example: "  cairn command list",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				list, err := c.Commands(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(append([]api.Command{}, list.Data...))
				}
				t := a.table("COMMAND", "FROM", "FOR")
				for _, c := range list.Data {
					t.row(line(strings.Join(append([]string{c.Name}, c.Hints...), " "), 50), c.Source, line(c.Description, 80))
				}
				t.print()
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// expand makes the run's prompt from its command, once: what the template has run is not run again after a lost
// connection.
func (r *runner) expand(ctx context.Context) error {
	p := &r.plan
	if p.command == "" {
		return nil
	}
	c := *r.conn.API
	if p.existing {
		s, err := c.Session(ctx, p.id)
		if err != nil {
			return err
		}
		c.Directory = s.Location.Directory
	}
	out, err := c.Expand(ctx, api.ExpandRequest{Command: p.command, Arguments: p.prompt.Text})
	if err != nil {
		return err
	}
	if out.Subtask {
		r.once("the command " + p.command + " is meant for a session of its own, which is not there yet; it works in this one")
	}
	for _, f := range out.Prompt.Files {
		if p.server == nil { // the files of a server elsewhere are on its machine
			f = r.app.carried(f)
		}
		p.prompt.Files = append(p.prompt.Files, f)
	}
	p.prompt.Text, p.prompt.Agents, p.command = out.Prompt.Text, out.Prompt.Agents, ""
	p.prompt.Agent, p.prompt.Model = out.Prompt.Agent, out.Prompt.Model
	return nil
}

// carried is the file with its content, where it can be; else it is only named.
func (a *app) carried(f session.File) session.File {
	u, err := url.Parse(f.URI)
	if err != nil || u.Scheme != "file" {
		return f
	}
	with, err := a.attachment(filepath.FromSlash(u.Path))
	if err != nil {
		return f
	}
	return with
}
