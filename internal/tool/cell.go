package tool

import (
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
)

// CellRequest names a sandbox.
type CellRequest struct {
	Mode    session.SandboxMode
	Session session.ID // "" for a command without a session
	// Granted are files and directories outside of the Location, by their real paths, that the command was permitted to
	// change. Those that hold more than one file of the user's own are left out.
	Granted []string
}

// Cell limits the access of a session's commands in a sandbox.
type Cell struct {
	Policy sandbox.Policy
	Env    []string // NAME=value: where programs put temporary files and caches
	Own    []string // the paths of Policy.Write that belong to no project: temporary files and caches
	Held   string   // the folder for new files whose names are protected; "" keeps them where they are

	Repositories, Folders []string // see protected.Config
}
