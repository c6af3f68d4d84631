package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Backup writes a complete, verified copy of the committed data to path, which must not exist. Reads and writes
// continue meanwhile. The copy is a database file that can replace the store's.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.work.Done()
	c, err := s.pool.acquireConn(ctx)
	if err != nil {
		return err
	}
	defer s.pool.releaseConn(c)
	return backUp(ctx, c, path)
}

// backUp copies the database of c, which must not be in a transaction, to the new file path.
func backUp(ctx context.Context, c dbConn, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("back up: %s exists", path)
	}
	partial := path + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return fmt.Errorf("create the copy: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return newUnavailable("back up: %w", err)
	}
	if err := copyInto(ctx, c, partial); err != nil {
		return errors.Join(newUnavailable("back up: %w", err), os.Remove(partial))
	}
	if err := os.Rename(partial, path); err != nil {
		return newUnavailable("back up: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

func copyInto(ctx context.Context, c dbConn, path string) error {
	c.Interrupt(ctx.Done())
	defer c.Interrupt(nil)
	if err := c.Exec("VACUUM INTO '" + strings.ReplaceAll(path, "'", "''") + "'"); err != nil {
		return err
	}
	if err := verifyCopy(ctx, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func verifyCopy(ctx context.Context, path string) error {
	c, err := openConn(path, forReadingRaw)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Interrupt(ctx.Done())
	problems, err := checkIntegrity(c, "PRAGMA integrity_check(3)")
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("the copy is damaged: %s", strings.Join(problems, "; "))
	}
	return err
}

// makeDir creates a folder that only its owner can access.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return newUnavailable("create folder: %w", err)
	}
	return nil
}
