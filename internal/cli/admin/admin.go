// Package admin holds the commands that list and change what cairn stores: sessions, inboxes, asks, jobs, the
// configuration and the store itself.
package admin

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// SessionCommands are the commands around sessions at work.
func SessionCommands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{
		sessionCommands{
			inv,
		}.sessionCommand(), inboxCommands{inv}.inboxCommand(), permissionCommands{inv}.permissionCommand(),
		projectCommands{inv}.projectCommand(),
		questionCommands{inv}.questionCommand(), jobCommands{inv}.jobsCommand(), serveCommand{inv}.serveCommand(),
		worktreeCommands{inv}.worktreeCommand(),
	}
}

// MaintenanceCommands are the commands for keys, configuration and the store.
func MaintenanceCommands(inv *cli.Invocation) []*cobra.Command {
	store, transfer := storeCommands{inv}, transferCommands{inv}
	return []*cobra.Command{
		configCommands{inv}.configCommand(), hookCommands{inv}.hooksCommand(),
		store.doctorCommand(), store.storageCommand(), store.fsckCommand(), store.backupCommand(), store.salvageCommand(),
		transfer.exportCommand(), transfer.importCommand(), versionCommand{inv}.versionCommand(),
	}
}
