// Package access holds the commands that decide who may do what: providers' keys, the logins at organisations, the
// trust in projects' files, the tokens of clients, and the audit log.
package access

import (
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

// Commands are `cairn auth`, `cairn trust`, `cairn token` and `cairn audit`.
func Commands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{
		authCommands{inv}.authCommand(), trustCommands{inv}.trustCommand(), tokenCommands{inv}.tokenCommand(),
		auditCommands{inv}.auditCommand(),
	}
}
