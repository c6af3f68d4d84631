// Package access holds the commands that decide who may do what: providers' keys, the logins at organisations, and the
// trust in projects' files.
package access

import (
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

// Commands are `cairn auth` and `cairn trust`.
func Commands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{authCommands{inv}.authCommand(), trustCommands{inv}.trustCommand()}
}
