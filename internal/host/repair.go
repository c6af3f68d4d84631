package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// Repair implements cli.Maintenance. It owns the store meanwhile and resumes nothing.
func (h Host) Repair(ctx context.Context, o client.Options) ([]finding.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return nil, nil
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{Version: o.Version})
	if err != nil {
		return nil, fmt.Errorf("repair needs the store for itself; stop the process that owns it: %w", err)
	}
	w, err := openOwner(ctx, lease, dirs, o)
	if err != nil {
		return nil, err
	}
	done, err := w.engine.RepairStore(ctx)
	var found []finding.Finding
	for _, r := range done {
		found = append(found, finding.Finding{Level: finding.OK, What: "session " + string(r.SessionID), Detail: r.Detail})
	}
	return found, errors.Join(err, w.close(ctx))
}
