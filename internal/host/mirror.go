package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/transfer/mirror"
)

// startMirror starts to keep the configured mirror up to date until ctx ends. release waits for it.
func (w *owner) startMirror(ctx context.Context) {
	if w.mirrorDir == "" || w.lease == nil || w.store.DegradedError() != nil {
		return
	}
	if err := recordCopy(ctx, w.dirs, kindMirror, w.mirrorDir); err != nil {
		w.logger.Warn("the mirror is not recorded", "error", err)
	}
	m := &mirror.Mirror{Store: w.store, StoreID: w.store.ID(), Dir: w.mirrorDir, Logger: w.logger}
	f := &follower.Follower{
		Name: "mirror", Store: w.store, Log: w.log, Consumer: m, File: mirror.CursorFile(w.mirrorDir), Logger: w.logger,
	}
	w.sweeps.Go(func() {
		f.Run(ctx)
		if err := m.Close(); err != nil {
			w.logger.Warn("the mirror could not be closed", "error", err)
		}
	})
}

// mirrorFix says what helps if the mirror cannot be written.
const mirrorFix = "make room, make the folder writable, or name an empty folder in storage.mirror; " +
	"sessions go on without it, and cairn fsck --mirror brings it up to date"

// examineMirror reports whether the configured mirror can be written.
func examineMirror(dirs config.Directories, cfg *config.Config) []finding.Finding {
	dir := cfg.Storage.Mirror.In(dirs)
	if dir == "" {
		return nil
	}
	f := finding.Finding{Level: finding.OK, What: "mirror", Detail: dir}
	if err := checkMirror(dirs, dir); err != nil {
		f.Level, f.Fix = finding.Warning, mirrorFix
		f.Detail = fmt.Sprintf("sessions are not mirrored: %v", err)
	}
	return []finding.Finding{f}
}

// checkMirror returns why the mirror cannot be written. It writes a file and removes it again.
func checkMirror(dirs config.Directories, dir string) error {
	id, err := statefile.ReadRegular(filepath.Join(dirs.Data, "store-id"), maxStoreID)
	if errors.Is(err, os.ErrNotExist) { // the first session makes the store, and the mirror
		id = nil
	} else if err != nil {
		return err
	}
	if err := mirror.CheckDir(dir, strings.TrimSpace(string(id))); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return checkCreatable(dir)
	}
	probe, err := os.CreateTemp(dir, ".cairn-*")
	if err != nil {
		return fmt.Errorf("a file cannot be made in %s: %w", dir, err)
	}
	_, err = probe.Write(make([]byte, probeSize))
	err = errors.Join(err, probe.Close())
	if err = errors.Join(err, os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("a file cannot be written in %s: %w", dir, err)
	}
	return nil
}

const (
	maxStoreID = 1024
	probeSize  = 64 << 10 // bytes: a full disk may still take a small file
)

// RepairMirror implements cli.Maintenance. It works beside the owner of the store.
func (h Host) RepairMirror(ctx context.Context, o client.Options) (found []finding.Finding, err error) {
	// Find the mirror.
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return nil, err
	}
	dir := user.Storage.Mirror.In(dirs)
	if dir == "" {
		return nil, session.Errorf(session.CodeInvalid,
			`sessions are not mirrored; set "storage": {"mirror": true} in your configuration first`)
	}
	if hasNoStore(dirs) {
		return []finding.Finding{noStore}, nil
	}
	// Open the store, which must be whole: what a damaged one lacks would be removed.
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.FindDamage(); err != nil {
		return []finding.Finding{{
			Level: finding.Warning, What: "mirror", Detail: "it stays as it is, because the store is damaged",
			Fix: check.SalvageFix,
		}}, nil
	}
	// Repair the mirror.
	m := &mirror.Mirror{Store: s, StoreID: s.ID(), Dir: dir, Logger: NewLogger(o.Env)}
	defer func() { err = errors.Join(err, m.Close()) }()
	report, err := m.Repair(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, mirrorFix)
	}
	return report.Findings(dir), nil
}
