// Package host is the wiring: one process made of a store, a log, an engine and its surfaces, with one scope per
// location; and the way to a process that has them already.
//
// One process at a time owns a data folder (sqlite.Lease). Every other cairn on the same folder is its client. An
// owner that has finished its own work lets the work of its clients come to an end, refuses new work, and gives the
// folder up; clients that were refused or cut off open again, and one of them becomes the owner.
package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
	"github.com/cairn-dev/cairn/internal/trust"
	"github.com/cairn-dev/cairn/internal/wellknown"
)

// Host implements cli.Host. The zero value is ready.
type Host struct{}

// Models implements cli.Host.
func (h Host) Models() cli.Models { return h }

// Maintenance implements cli.Host.
func (h Host) Maintenance() cli.Maintenance { return h }

var _ cli.Host = Host{}

// How long a command waits for an owner that is starting or stopping, and between two looks. An owner that leaves may
// linger for its clients before it stops.
const (
	ownerWait = lingerTime + stopTime + 6*time.Second
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
	quietTime = 2 * time.Second // a command that waits longer says for whom
)

// Open implements cli.Host.
func (h Host) Open(ctx context.Context, o cli.Options) (*cli.Connection, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if err := sandboxable(o); err != nil {
		return nil, err
	}
	lease, c, err := reach(ctx, dirs, o)
	if readable(err) {
		return h.look(ctx, dirs, o)
	}
	if lease == nil {
		return c, err
	}
	return h.become(ctx, lease, dirs, o) // in the caller's time: a migration may take long
}

// readable reports whether the data can perhaps be read although the lease cannot be written: the disk is full, or
// mounted for reading only (spec/guarantees G11).
func readable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EDQUOT)
}

// look opens the data for reading only, for this process alone.
func (h Host) look(ctx context.Context, dirs config.Directories, o cli.Options) (*cli.Connection, error) {
	w, err := own(ctx, nil, dirs, o)
	if err != nil {
		return nil, err
	}
	client := &api.Client{HTTP: &http.Client{Transport: api.Local(w.api.Handler())}, Base: "http://localhost", Directory: o.Dir}
	return &cli.Connection{API: client, Close: w.close}, nil
}

// reach returns the lease when nobody has it, else a connection to its holder.
func reach(whole context.Context, dirs config.Directories, o cli.Options) (*sqlite.Lease, *cli.Connection, error) {
	ctx, cancel := context.WithTimeout(whole, ownerWait)
	defer cancel()
	since := time.Now()
	for look := firstLook; ; look = min(2*look, lastLook) {
		lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{Version: o.Version})
		if err == nil {
			return lease, nil, nil
		}
		held, ok := errors.AsType[*sqlite.Held](err)
		if !ok {
			return nil, nil, fmt.Errorf("open %s: %w", dirs.Data, err)
		}
		if o.Trust != "" {
			return nil, nil, session.Errorf(session.CodeConflict, "--trust is about the process that does the work, and process %d owns %s; give --trust to that one, or use cairn trust", held.Owner.PID, dirs.Data)
		}
		if o.Record != "" || o.Replay != "" {
			return nil, nil, session.Errorf(session.CodeConflict, "recording and replay need a cairn of their own, and process %d owns %s; stop it, or set CAIRN_HOME to another directory", held.Owner.PID, dirs.Data)
		}
		c, err := dial(ctx, held.Owner, o)
		if err == nil || errors.Is(err, errUnbound) {
			return nil, c, err
		}
		if refused(err) {
			return nil, nil, fmt.Errorf("process %d owns the data folder %s and refuses this one: %w", held.Owner.PID, held.Dir, err)
		}
		if o.Note != nil && whole.Err() == nil && time.Since(since) > quietTime {
			o.Note(mute(held) + "; waiting for it")
			o.Note = nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, session.Errorf(session.CodeUnavailable, "%s; end it if it hangs, and try again", mute(held)).Because(context.Cause(whole))
		case <-time.After(look):
		}
	}
}

// refused reports whether the owner answered that it does not serve us, as it does what its own tools start.
func refused(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeDenied
}

// mute says who does not answer.
func mute(held *sqlite.Held) string {
	who := "a process that has not said its number yet"
	if held.Owner.PID != 0 {
		who = fmt.Sprintf("process %d", held.Owner.PID)
	}
	return fmt.Sprintf("%s owns the data folder %s and does not answer", who, held.Dir)
}

// Config implements cli.Host.
func (h Host) Config(ctx context.Context, o cli.Options) (*config.Config, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	pr, err := finder(dirs).Find(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	return config.Load(ctx, config.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Project: string(pr.ID), Trust: judge(dirs, o), Dirs: dirs, Env: o.Env, All: true,
		Remotes: remotesOf(auth.New(dirs.Data, o.Env), wellknown.In(dirs.Cache)),
	})
}

// Trust implements cli.Host.
func (h Host) Trust(o cli.Options) (*trust.Store, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return trust.New(dirs.Data), nil
}

func judge(dirs config.Directories, o cli.Options) *trust.Judge {
	return &trust.Judge{Store: trust.New(dirs.Data), Word: o.Trust}
}
