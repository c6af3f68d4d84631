package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// Salvage implements cli.Maintenance. It works beside the owner of the store.
func (h Host) Salvage(ctx context.Context, o client.Options, dir string) (*check.Salvage, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return nil, session.Errorf(session.CodeNotFound, "%s does not contain a store", dirs.Data)
	}
	if err := checkNewHome(dirs, dir); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "data")
	report, err := sqlite.Salvage(ctx, dirs.Data, to, projectRow)
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: to, Version: o.Version})
	if err != nil {
		return nil, err
	}
	out, err := check.NewSalvage(ctx, s, report.Lost)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	out.Home = dir
	return out, nil
}

// checkNewHome fails if dir holds anything, or is within the data folder, which salvage leaves as it is.
func checkNewHome(dirs config.Directories, dir string) error {
	if rel, err := filepath.Rel(dirs.Data, dir); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		return session.Errorf(session.CodeInvalid, "%s is in the data folder; name a directory outside of it", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return session.Errorf(session.CodeInvalid, "%s must be a new directory: %v", dir, err)
	}
	if len(entries) > 0 {
		return session.Errorf(session.CodeInvalid, "%s is not empty; name a new directory", dir)
	}
	if _, perr := os.Stat(filepath.Dir(dir)); err != nil && errors.Is(perr, fs.ErrNotExist) {
		return session.Errorf(session.CodeInvalid, "%s cannot be made: %s does not exist; correct the path, or make it",
			dir, filepath.Dir(dir))
	}
	return nil
}

// projectRow applies one salvaged event to the projections.
func projectRow(tx store.Tx, row store.EventRow) error {
	e, err := eventlog.Decode(row)
	if err != nil {
		return err
	}
	return projection.Apply(tx, e)
}
