package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// An ephemeral session belongs to the command that created it, which deletes it when it ends. A command on this machine
// holds a lock file from before the creation until after the deletion, and the kernel releases the lock of a command that
// was killed. So an owner knows which sessions were left behind: those whose file exists and is not locked. It deletes them
// when it starts, before it resumes any work, and with its sweeps. A command on another machine has no lock here: its
// session is left behind when it was idle and unchanged for ephemeralIdle.

const (
	// ephemeralDir is the folder of the lock files in the data directory.
	ephemeralDir = "ephemeral"
	// ephemeralIdle is how long the session of a command on another machine stays after its last change.
	ephemeralIdle = time.Hour
)

// ephemeralLock returns the lock file of an ephemeral session. An id is a file name (ID-3).
func ephemeralLock(data string, id session.ID) string {
	return filepath.Join(data, ephemeralDir, string(id))
}

// HoldSession implements cli.Host.
func (h Host) HoldSession(ctx context.Context, o client.Options, id session.ID) (release func(isGone bool), err error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	file := ephemeralLock(dirs.Data, id)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, dataDirectoryError(dirs.Data, err)
	}
	unlock, err := statefile.Lock(ctx, file)
	if err != nil {
		return nil, dataDirectoryError(dirs.Data, err)
	}
	return func(isGone bool) {
		if isGone {
			statefile.RemoveLock(file, unlock) // if it stays, a sweep removes it
			return
		}
		unlock()
	}, nil
}

// deleteEphemeral deletes the ephemeral sessions that were left behind, and the lock files of sessions that do not
// exist. It does nothing if the store is damaged or cannot be written.
func (w *owner) deleteEphemeral(ctx context.Context) {
	if w.lease == nil || w.store.DegradedError() != nil {
		return
	}
	root := session.ID("")
	sessions, err := store.Query(ctx, w.store, func(r store.Reader) ([]*session.Session, error) {
		return store.ReadSessions(r, store.SessionQuery{Ephemeral: true, ParentID: &root, Archived: true})
	})
	if err != nil {
		w.warnEphemeral(ctx, "", err)
		return
	}
	for _, s := range sessions {
		if err := w.deleteIfLeft(ctx, s, time.Now()); err != nil {
			w.warnEphemeral(ctx, s.ID, err)
		}
	}
	w.removeEphemeralLocks(ctx)
}

// deleteIfLeft deletes an ephemeral session if its command has ended.
func (w *owner) deleteIfLeft(ctx context.Context, s *session.Session, now time.Time) error {
	release, state := w.claimEphemeral(s.ID)
	switch {
	case state == lockHeld:
		return nil
	case state == lockMissing:
		if slices.Contains(w.engine.Active(), s.ID) || now.Sub(time.UnixMilli(s.Time.Updated)) < ephemeralIdle {
			return nil
		}
	default:
		defer release()
	}
	err := w.engine.Commands.DeleteSession(ctx, s.ID)
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return nil
	}
	return err
}

// lockState is the state of the lock of an ephemeral session.
type lockState int

const (
	lockMissing lockState = iota // its command is on another machine
	lockHeld                     // its command runs, or the lock cannot be tried
	lockFree                     // its command was killed
)

// claimEphemeral takes the lock of a session whose command was killed. release removes its file.
func (w *owner) claimEphemeral(id session.ID) (release func(), state lockState) {
	file := ephemeralLock(w.dirs.Data, id)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, lockMissing
	}
	once, cancel := context.WithCancel(context.Background()) // try once
	cancel()
	unlock, err := statefile.Lock(once, file)
	if err != nil {
		return nil, lockHeld
	}
	return func() { statefile.RemoveLock(file, unlock) }, lockFree
}

// removeEphemeralLocks removes the lock files that nobody holds and whose session does not exist.
func (w *owner) removeEphemeralLocks(ctx context.Context) {
	files, err := os.ReadDir(filepath.Join(w.dirs.Data, ephemeralDir))
	if err != nil {
		return // there is none
	}
	deleted := w.sessionDeletedCheck(ctx)
	for _, f := range files {
		id := session.ID(f.Name())
		if !strings.HasPrefix(f.Name(), string(session.PrefixSession)) {
			continue
		}
		if gone, err := deleted(id); err != nil || !gone {
			continue
		}
		if release, state := w.claimEphemeral(id); state == lockFree {
			release()
		}
	}
}

func (w *owner) warnEphemeral(ctx context.Context, id session.ID, err error) {
	if ctx.Err() == nil {
		w.logger.Warn("an ephemeral session could not be deleted", "session", id, "error", err)
	}
}
