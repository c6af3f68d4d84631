package host

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// FindOwner implements cli.Maintenance. It connects to nothing and creates nothing.
func (Host) FindOwner(_ context.Context, o client.Options) (client.StoreOwner, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return client.StoreOwner{}, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if _, err := os.Stat(dirs.Data); errors.Is(err, fs.ErrNotExist) { // AcquireLease would make it
		return client.StoreOwner{}, nil
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{Version: o.Version})
	if held, ok := errors.AsType[*sqlite.HeldError](err); ok {
		return client.StoreOwner{PID: held.Owner.PID, Version: held.Owner.Version}, nil
	}
	if err != nil {
		return client.StoreOwner{}, dataDirectoryError(dirs.Data, err)
	}
	return client.StoreOwner{}, lease.Release()
}
