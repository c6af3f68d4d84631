// Package access holds the commands that decide who may do what: providers' keys, the logins at organisations, the
// trust in projects' files, and the tokens of clients.
package access

import (
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

// Commands are `cairn auth`, `cairn trust` and `cairn token`.
func Commands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{
		authCommands{inv}.authCommand(), trustCommands{inv}.trustCommand(), tokenCommands{inv}.tokenCommand(),
	}
}
