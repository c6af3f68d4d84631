// Package inspect holds the commands that show what can be used here, models, agents, skills and commands, and what
// happened: events, costs and what was said.
package inspect

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// Commands are the commands that show what there is.
func Commands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{
		eventCommands{inv}.eventsCommand(), contextCommands{inv}.contextCommand(),
		modelCommands{inv}.modelsCommand(), agentCommands{inv}.agentCommand(),
		promptCommands{inv}.skillCommand(), promptCommands{inv}.commandCommand(), statsCommand{inv}.statsCommand(),
		searchCommand{inv}.searchCommand(),
	}
}
