package root

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

// personCommands are the commands, without the program's name, that change who may do what: they write tokens, trust,
// keys, configuration or approvals, reply to the model, or replace the program. Only a person may run them, not a process
// of a tool.
var personCommands = []string{
	"auth login", "auth logout", "auth move",
	"config set", "config unset", "hooks import",
	"plugin add", "plugin remove", "plugin update",
	"mcp add", "mcp remove", "mcp import", "mcp call", "mcp auth", "mcp logout",
	"permission reply", "permission revoke",
	"question answer", "question dismiss",
	"token create", "token revoke",
	"trust",
	"service install", "service remove", "upgrade", // the server runs outside of the sandbox
}

// refuseTool refuses the command if a tool started this process and only a person may run the command.
func refuseTool(inv *cli.Invocation, cmd *cobra.Command) error {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	if !slices.Contains(personCommands, path) {
		return nil
	}
	err := cli.RefuseTool(cmd.CommandPath())
	if err == nil {
		return nil
	}
	inv.Started = true // the command line is valid
	code := cli.ExitDenied
	if inv.IsOpenCode() { // whose exit code for it is that of success
		code = cli.ExitFailure
	}
	return cli.NewExitError(
		code,
		err,
		"Run it in a terminal of your own. Outside of tools, a limit of the process (ulimit -R) has the same effect.",
	)
}
