package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Migrations are numbered from 1 without gaps, run forward only, and are never changed once released. The number of
// the last one is the schema's version, PRAGMA user_version.

//go:embed migration/*.sql
var migrationFiles embed.FS

func embeddedMigrations() fs.FS { return migrationFiles }

// applicationID marks an SQLite file as cairn's: "carN". unreleasedID, "carn", marks databases from before the
// first release, which have other tables.
const (
	applicationID = 0x6361724e
	unreleasedID  = 0x6361726e
)

const checkTime = time.Second

type migration struct {
	version int64
	name    string
	sql     string
}

// readMigrations returns the migrations in order.
func readMigrations(fsys fs.FS) ([]migration, error) {
	files, err := fs.Glob(fsys, "migration/*.sql")
	if err != nil {
		return nil, err
	}
	var out []migration
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("migration %s: must be numbered %04d", file, i+1)
		}
		sql, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{version, name, string(sql)})
	}
	return out, nil
}

// findPending returns the version of the database's schema, 0 for a new database, and the migrations that it lacks.
func (h *home) findPending(c dbConn) (found int64, pending []migration, err error) {
	all, err := readMigrations(h.migrations)
	if err != nil {
		return 0, nil, err
	}
	found, err = h.readSchemaVersion(c, int64(len(all)))
	if err != nil {
		return 0, nil, err
	}
	return found, all[found:], nil
}

// migrateSchema runs the pending migrations in one transaction, after a backup if the database contains data.
func (h *home) migrateSchema(ctx context.Context, c dbConn, found int64, pending []migration, version string) error {
	if len(pending) == 0 {
		return nil
	}
	if found > 0 {
		if err := h.backUpBefore(ctx, c, found); err != nil {
			return err
		}
	}
	return applyMigrations(c, pending, found, version)
}

// readSchemaVersion returns the version of the database's schema, 0 for a new database.
func (h *home) readSchemaVersion(c dbConn, known int64) (int64, error) {
	found, err := queryInt(c, "PRAGMA user_version")
	if err != nil {
		return 0, newUnavailable("read %s: %w", h.path, err)
	}
	app, err := queryInt(c, "PRAGMA application_id")
	if err != nil {
		return 0, newUnavailable("read %s: %w", h.path, err)
	}
	tables, err := queryInt(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, newUnavailable("read %s: %w", h.path, err)
	}
	switch {
	case app == unreleasedID:
		return 0, newUnavailable("%s was created by cairn before its first release, whose tables this version does not "+
			"read; cairn salvage DIR copies its sessions into a new home", h.path)
	case app != applicationID && (tables > 0 || found > 0):
		return 0, newUnavailable("%s is an SQLite database, but not one of cairn", h.path)
	case found > known:
		return 0, newUnavailable("%w: the schema of %s has version %d, this cairn knows up to %d; use a newer cairn, or "+
			"bring back an older database: %s", ErrNewer, h.path, found, known, h.recoveryAdvice())
	}
	return found, nil
}

func (h *home) backUpBefore(ctx context.Context, c dbConn, found int64) error {
	dir := filepath.Join(h.dir, backupDir)
	if err := makeDir(dir); err != nil {
		return err
	}
	name := fmt.Sprintf("cairn-v%d-%s.db", found, time.Now().UTC().Format("20060102T150405.000"))
	if err := backUp(ctx, c, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("back up before migration: %w", err)
	}
	return nil
}

// applyMigrations runs the pending migrations if the schema still has the version found.
func applyMigrations(c dbConn, pending []migration, found int64, version string) error {
	if err := c.Exec("PRAGMA synchronous = FULL; BEGIN IMMEDIATE"); err != nil {
		return newUnavailable("migrate: %w", err)
	}
	err := func() error {
		now, err := queryInt(c, "PRAGMA user_version")
		if err != nil || now != found {
			return fmt.Errorf("the schema is of version %d now, was %d (%w); try again", now, found, err)
		}
		for _, m := range pending {
			if err := c.Exec(m.sql); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		if found == 0 {
			if err := writeIdentity(c, version); err != nil {
				return err
			}
		}
		return c.Exec(fmt.Sprintf("PRAGMA user_version = %d; COMMIT", pending[len(pending)-1].version))
	}()
	if err != nil {
		if c.InTransaction() {
			_ = c.Exec("ROLLBACK")
		}
		return newUnavailable("migrate: nothing was changed: %w", err)
	}
	return c.Exec("PRAGMA synchronous = NORMAL")
}

// writeIdentity gives a new database its identity.
func writeIdentity(c dbConn, version string) error {
	if err := c.Exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	if err := setMeta(c, "store-id", newID()); err != nil {
		return err
	}
	return setMeta(c, "created-by", version)
}
