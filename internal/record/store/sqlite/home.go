package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

const (
	markerName = "store-id"
	backupDir  = "backup"
)

// home is the folder of a store.
type home struct {
	dir        string // absolute, no symbolic links in it
	path       string // of the database
	migrations fs.FS
}

// findHome returns the folder and creates it if necessary.
func findHome(cfg Config) (*home, error) {
	if cfg.Dir == "" {
		return nil, errors.New("open database: no folder given")
	}
	if !cfg.ReadOnly {
		if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
			return nil, newUnavailable("create the data folder: %w", err)
		}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, newUnavailable("find the data folder: %w", err)
	}
	return &home{dir: dir, path: filepath.Join(dir, dbName), migrations: embeddedMigrations()}, nil
}

func (h *home) fileSize(suffix string) int64 {
	info, err := os.Lstat(h.path + suffix)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (h *home) exists() bool { return h.fileSize("") > 0 }

// readMarker returns the id in the marker file, "" if the file does not exist.
func (h *home) readMarker() (string, error) {
	b, err := os.ReadFile(filepath.Join(h.dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// prepare ensures that a database file exists. It reports whether the last process failed to close it. Before it creates
// the file, it removes the commit record of a store that was here before, so that isUnfinished does not find it.
func (h *home) prepare() (unclean bool, err error) {
	id, err := h.readMarker()
	if err != nil {
		return false, newUnavailable("read %s: %w", markerName, err)
	}
	if h.exists() {
		return h.fileSize("-wal") > 0, nil
	}
	if id != "" {
		return false, h.missingError(id)
	}
	if err := removeAny(filepath.Join(h.dir, committedName)); err != nil {
		return false, newUnavailable("create database: %w", err)
	}
	f, err := os.OpenFile(h.path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return false, newUnavailable("create database: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil { // regardless of the umask
		return false, newUnavailable("create database: %w", err)
	}
	return false, syncDir(h.dir)
}

// isUnfinished reports whether the process that created the database ended before it committed the tables; record is the
// commit record of the folder. Open writes the marker and the record before it returns, and syncs the marker, so that
// nothing was acknowledged in a folder without both. In any other folder a database without tables is damaged: its log
// may have had all of them. The same holds for a copy without these files whose log has more commits than a creation.
func (h *home) isUnfinished(record *commitRecord) bool {
	if id, err := h.readMarker(); err != nil || id != "" || record != nil {
		return false
	}
	c, err := h.openReader()
	if err != nil {
		return false
	}
	defer c.Close()
	tables, err := queryInt(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil || tables > 0 {
		return false
	}
	version, err := queryInt(c, "PRAGMA user_version")
	if err != nil || version > 0 {
		return false
	}
	commits, err := countCommits(h.path + logSuffix)
	return err == nil && commits <= 1
}

// missingError returns the error that the database of the store is missing.
func (h *home) missingError(id string) error {
	return newUnavailable(
		"the database %s of store %s is missing or empty, and a new one would hide that; %s", h.path, id,
		h.recoveryAdvice(),
	)
}

// checkUsable returns why the database with the id must not be used here even if it can be read: it is newer than
// this cairn or belongs to another folder.
func (h *home) checkUsable(c dbConn, id string) error {
	if _, _, err := h.findPending(c); err != nil {
		return err
	}
	marked, err := h.readMarker()
	switch {
	case err != nil:
		return newUnavailable("read %s: %w", markerName, err)
	case marked != "" && marked != id:
		return h.foreignError(id, marked)
	}
	return nil
}

// foreignError returns the error that the database belongs to another folder.
func (h *home) foreignError(id, marked string) error {
	return newUnavailable("the database %s is that of store %s, but %s says that store %s belongs here; "+
		"bring back the right one, or remove %[3]s to accept it", h.path, id, filepath.Join(h.dir, markerName), marked)
}

// recoveryAdvice returns what the user can do about a lost database.
func (h *home) recoveryAdvice() string {
	hint := fmt.Sprintf("to start with an empty store, remove %s", filepath.Join(h.dir, markerName))
	if h.exists() {
		hint = "cairn salvage DIR copies what can be read into a new home"
	}
	return h.listBackups() + "; " + hint
}

// listBackups returns a sentence about the existing backups.
func (h *home) listBackups() string {
	backups, _ := filepath.Glob(filepath.Join(h.dir, backupDir, "*.db"))
	if len(backups) == 0 {
		return "no backups exist"
	}
	return fmt.Sprintf("the backups are %s: copy one to %s", strings.Join(backups, ", "), h.path)
}

func (h *home) openWriter() (dbConn, error) { return h.open(forWriting, writerPragmas) }

// writerPragmas begin with EXTRA: a new database switches to the log through a rollback journal, whose deletion
// must be durable, or the journal returns after a power cut and undoes everything. Pages are small because a commit
// writes whole pages, and a small transaction changes five or six: 6.5 KB at 1024 bytes, 20 KB at 4096, for reads
// of long histories that are a third slower. 512 would be 4.4 KB and another third. (The log relies on disks that
// do not damage neighbouring sectors in a torn write.)
//
// What is deleted is overwritten, so that nothing of a deleted session is left in the file. A new database can give pages
// back one after another (Store.Shrink).
const writerPragmas = `
	PRAGMA page_size = 1024;
	PRAGMA auto_vacuum = INCREMENTAL;
	PRAGMA secure_delete = ON;
	PRAGMA synchronous = EXTRA;
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = NORMAL;
	PRAGMA wal_autocheckpoint = 32000;
	PRAGMA journal_size_limit = 4194304;
	PRAGMA cache_size = -4096;`

func (h *home) openReader() (dbConn, error) { return h.open(forReading, readerPragmas) }

const readerPragmas = `PRAGMA cache_size = -1024;`

const commonPragmas = `
	PRAGMA foreign_keys = ON;
	PRAGMA trusted_schema = OFF;
	PRAGMA cell_size_check = ON;
	PRAGMA temp_store = MEMORY;
	PRAGMA mmap_size = 0;`

func (h *home) open(a accessMode, pragmas string) (dbConn, error) {
	c, err := openConn(h.path, a)
	if err != nil {
		return nil, err
	}
	if err := c.Exec(commonPragmas + pragmas); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// findReader returns how to open a database that must not be written. Without a log, no helper files are needed
// beside it.
func (h *home) findReader() (func() (dbConn, error), error) {
	if !h.exists() {
		if id, err := h.readMarker(); err == nil && id != "" {
			return nil, h.missingError(id)
		}
		return nil, newUnavailable("database %s not found", h.path)
	}
	c, err := h.openReader()
	if err == nil {
		err = beginSnapshot(c)
		_ = c.Close()
	}
	if err == nil {
		return h.openReader, nil
	}
	if errors.Is(err, store.ErrDamaged) && h.fileSize(logSuffix) > 0 {
		return nil, newUnavailable("read %s: %w", h.path, err)
	}
	if h.fileSize(logSuffix) > 0 {
		return nil, newUnavailable(
			"read %s: %w; its log can only be read where files can be created beside it: copy the folder", h.path,
			err,
		)
	}
	return func() (dbConn, error) { return h.open(forReadingRaw, readerPragmas) }, nil
}

// checkAfterCrash returns an error if committed events are missing or the database is damaged, and why the former
// cannot be checked. It changes no file: the last writing connection that is closed would copy what is left of the log
// into the database, and remove the log.
func (h *home) checkAfterCrash(
	ctx context.Context, before *commitRecord, logger *slog.Logger,
) (unchecked string, err error) {
	open, err := h.findReader()
	if err != nil {
		return "", err
	}
	c, err := open()
	if err != nil {
		return "", newUnavailable("open %s: %w", h.path, err)
	}
	defer c.Close()
	lost, err := before.findMissing(c, h.dir)
	if err == nil {
		unchecked, err = before.findUnchecked(c, h.dir)
	}
	if err != nil {
		return "", newUnavailable("read %s: %w", h.path, err)
	}
	if lost > 0 {
		logger.Warn("a power cut removed events that were not synced yet", "events", lost)
	}
	if unchecked != "" {
		logger.Warn(unchecked)
	}
	return unchecked, quickCheck(ctx, c)
}

// prepareSchema migrates the database, and begins its record of commits after before, the record of the last process.
// The record of an existing store begins before the migration, because a log with frames must not be without it.
func (h *home) prepareSchema(
	ctx context.Context, c dbConn, version string, before *commitRecord,
) (commits *commitFile, err error) {
	found, pending, err := h.findPending(c)
	if err != nil {
		return nil, err
	}
	if found > 0 {
		if commits, err = h.beginRecord(c, before); err != nil {
			return nil, err
		}
	}
	if err := h.migrateSchema(ctx, c, found, pending, version); err != nil {
		commits.abandon()
		return nil, err
	}
	if found > 0 {
		return commits, nil
	}
	return h.beginRecord(c, before)
}

// beginRecord begins the record of commits of the store in c. It writes the marker if the folder has none; the marker of
// another store is an error.
func (h *home) beginRecord(c dbConn, before *commitRecord) (*commitFile, error) {
	id, err := metaValue(c, "store-id")
	if err != nil {
		return nil, newUnavailable("read the store's id: %w", err)
	}
	newest, err := sqlstore.NewReader(c).Head("")
	if err != nil {
		return nil, newUnavailable("read %s: %w", h.path, err)
	}
	marked, err := h.readMarker()
	switch {
	case err != nil:
		return nil, newUnavailable("read %s: %w", markerName, err)
	case marked != "" && marked != id:
		return nil, h.foreignError(id, marked)
	case marked == "":
		if err := writeFile(filepath.Join(h.dir, markerName), []byte(id+"\n")); err != nil {
			return nil, err
		}
	}
	return newCommitFile(h.dir, id, newest, before), nil
}

// writeFile writes a file that survives a power cut.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return newUnavailable("write %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return newUnavailable("write %s: %w", filepath.Base(path), err)
	}
	return syncDir(filepath.Dir(path))
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// quickCheck checks for damage for at most a second; damage that it does not reach is found on read.
func quickCheck(ctx context.Context, c dbConn) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	c.Interrupt(ctx.Done())
	defer c.Interrupt(nil)
	problems, err := checkIntegrity(c, "PRAGMA quick_check(3)")
	switch {
	case codeOf(err) == codeInterrupt:
		return nil
	case err != nil:
		return err
	case len(problems) > 0:
		return &store.Damage{Seq: -1, Detail: strings.Join(problems, "; ")}
	}
	return nil
}

// checkIntegrity returns the problems that an integrity pragma reports.
func checkIntegrity(c dbConn, pragma string) (problems []string, err error) {
	err = query(c, pragma, func(r row) {
		if p := r.Text(0); p != "ok" {
			problems = append(problems, p)
		}
	})
	return problems, err
}
