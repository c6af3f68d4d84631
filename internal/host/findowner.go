package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// FindOwner implements cli.Maintenance. It connects to nothing, and creates and writes nothing.
func (Host) FindOwner(_ context.Context, o client.Options) (client.StoreOwner, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return client.StoreOwner{}, session.Errorf(session.CodeInvalid, "%v", err)
	}
	owner, _, err := sqlite.FindOwner(dirs.Data)
	if err != nil {
		return client.StoreOwner{}, dataDirectoryError(dirs.Data, err)
	}
	return client.StoreOwner{PID: owner.PID, Version: owner.Version}, nil
}
