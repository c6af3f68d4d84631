package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/instruction"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/replay"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// owner is one process that owns a store: log, engine and surfaces around it.
type owner struct {
	dirs      config.Directories
	lease     *sqlite.Lease
	store     *sqlite.Store
	engine    *engine.Engine
	old       *v1.API
	api       *v2.API
	recorder  *replay.Recorder
	places    *locations
	terminals *pty.Terminals
	logger    *slog.Logger
	body      int64 // bytes that a request to us may have, 0 if nobody says

	tidying sync.WaitGroup
	untidy  context.CancelFunc // ends what tidying waits for; nil before tidy
}

// own opens everything behind a lease, which it releases when it fails; without one, for reading only. Nothing runs yet: call recover once the
// surfaces stand.
func own(ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o cli.Options) (*owner, error) {
	tuneMemory(o.Env)
	w := &owner{dirs: dirs, lease: lease, logger: logger(o.Env)}
	if err := w.open(ctx, o); err != nil {
		return nil, errors.Join(err, w.release())
	}
	return w, nil
}

func (w *owner) open(ctx context.Context, o cli.Options) error {
	dirs := w.dirs
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return err
	}
	w.body = int64(user.Limits.Body)
	transport, err := w.transport(o)
	if err != nil {
		return err
	}
	if w.store, err = sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, Version: o.Version, ReadOnly: w.lease == nil}); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	ids := &session.IDs{}
	watched := store.Watch(w.store)
	log := eventlog.New(eventlog.Config{Store: watched, IDs: ids})
	places := &locations{
		dirs: dirs, getenv: o.Env, projects: &project.Finder{Cache: filepath.Join(dirs.Cache, "project")},
		models:  models.NewPool(models.Options{Dirs: dirs, Getenv: o.Env, Version: o.Version, Transport: transport}),
		outputs: &tool.Outputs{Dir: filepath.Join(dirs.Data, "tool-output"), IDs: ids, Log: w.logger, File: int64(user.Limits.Output)}, files: file.NewTracker(),
		remotes: remotesFor(dirs, o, w.logger),
		trust:   judge(dirs, o), logger: w.logger, sandboxed: o.Sandbox || user.Sandbox.Enabled, places: map[string]*slot{},
	}
	if o.Replay == "" {
		places.pages = &instruction.Pages{}
	}
	w.places = places
	w.forgetScratch()
	w.engine = engine.New(engine.Config{
		Store: watched, Log: log, IDs: ids, Locations: places, Outputs: places.outputs, Limits: limits(user.Limits), Logger: w.logger, Version: o.Version,
	})
	w.terminals = pty.New(ids, func(c pty.Change) { w.old.TerminalChanged(c) })
	w.old = v1.New(v1.Config{
		Engine: w.engine, Store: watched, Log: log, IDs: ids, Places: v1Backend{places}, Terminals: w.terminals, Directory: o.Dir,
		Version: o.Version, Head: project.Head, Condition: w.store.Condition, Logger: w.logger,
	})
	w.api = v2.New(v2.Config{
		Engine: w.engine, Store: watched, Log: log, IDs: ids, Locations: places, Files: places, Explainer: places, Doctor: examiner{watched, w.store.Condition, dirs, o},
		Directory: o.Dir, Health: api.Health{Version: o.Version, PID: os.Getpid(), Sandbox: places.sandboxed}, Condition: w.store.Condition, Logger: w.logger,
	})
	return nil
}

// transport is how providers are reached: over the network, recorded, or from a recording.
func (w *owner) transport(o cli.Options) (http.RoundTripper, error) {
	switch {
	case o.Replay != "":
		p, err := replay.Open(o.Replay)
		if err != nil {
			return nil, session.Errorf(session.CodeInvalid, "%v", err).At("replay")
		}
		return p, nil
	case o.Record != "":
		w.recorder = replay.NewRecorder(o.Record, provider.NewLazyTransport())
		return w.recorder, nil
	default:
		return provider.NewLazyTransport(), nil
	}
}

func limits(l config.Limits) engine.Limits {
	return engine.Limits{
		Pending: int(l.Inbox), Sessions: int(l.Sessions), Tools: int(l.Tools), Turns: int(l.Turns), Attempts: int(l.Attempts),
		AnswerBytes: int(l.Answer),
	}
}

// logger writes what operators need to know to standard error, from the level that CAIRN_LOG names.
func logger(getenv func(string) string) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(config.Getenv(getenv, "LOG"))); err != nil {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// recover goes on with what an earlier owner left.
func (w *owner) recover(ctx context.Context) error {
	if w.store.Degraded() != nil {
		return nil
	}
	return w.engine.Recover(ctx)
}

// close stops in order: work is cut so that the next owner can go on with it, streams end, the store closes, and only
// then is the folder given up.
func (w *owner) close(ctx context.Context) error {
	err := w.engine.Close(ctx)
	w.old.Close()
	w.api.Close()
	return errors.Join(err, w.release())
}

func (w *owner) release() error {
	if w.untidy != nil {
		w.untidy()
		w.tidying.Wait()
	}
	if w.terminals != nil {
		w.terminals.Close()
	}
	var errs []error
	w.forgetScratch()
	if w.recorder != nil {
		errs = append(errs, w.recorder.Close())
	}
	if w.store != nil {
		errs = append(errs, w.store.Close())
	}
	if w.lease != nil {
		errs = append(errs, w.lease.Release())
	}
	return errors.Join(errs...)
}
