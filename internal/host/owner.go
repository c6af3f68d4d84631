package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/replay"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/location/notify"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/location/reach"
	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/retention"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/server/nextrequest"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/web"
	"github.com/cairn-dev/cairn/internal/transfer/share"
	"github.com/cairn-dev/cairn/internal/transfer/sharepage"
)

// owner is one process that owns a store: log, engine and surfaces around it.
type owner struct {
	log        *eventlog.Log
	dirs       config.Directories
	lease      *sqlite.Lease
	store      *sqlite.Store
	engine     *engine.Engine
	v1         *v1.API
	v2         *v2.API
	recorder   *replay.Recorder
	locations  *locationCache
	measures   *measures // nil without telemetry
	terminals  *pty.Terminals
	worktrees  *worktrees
	logger     *slog.Logger
	bodyLimit  int64  // of a request in bytes; 0 is the default
	streams    int    // of one client; 0 is the default
	mirrorDir  string // of the mirror of sessions; "" without one
	search     *sessionSearch
	shares     *share.Outbox
	sharePages *sharepage.Pages
	local      http.Handler     // the operations for callers in this process; nil before it listens
	share      config.ShareMode // of the user
	retention  retention.Policy
	quota      int64    // bytes; 0 without one
	leftOut    []string // settings of the storage that are invalid, and why

	sweeps     sync.WaitGroup
	stopSweeps context.CancelFunc // ends what tidying waits for; nil before tidy
}

// openOwner opens everything behind a lease, or read-only without one. It releases the lease if it fails. Call recover
// when the surfaces are ready; until then no work runs.
func openOwner(ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o client.Options) (*owner, error) {
	if !o.Program.IsLibrary {
		tuneMemory(o.Env)
	}
	w := &owner{dirs: dirs, lease: lease, logger: o.Program.Logger}
	if w.logger == nil {
		w.logger = NewLogger(o.Env)
	}
	if err := w.open(ctx, o); err != nil {
		return nil, errors.Join(err, w.release())
	}
	return w, nil
}

func (w *owner) open(ctx context.Context, o client.Options) error {
	dirs := w.dirs
	if err := peer.ProtectProcess(); err != nil {
		return fmt.Errorf("protect the process: %w", err)
	}
	// An invalid file stops what needs its location, but not commands such as session list.
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env, All: true})
	if err != nil {
		return err
	}
	w.bodyLimit, w.streams = int64(user.Limits.Body), int(user.Limits.Streams)
	w.share = user.Share
	w.setStorage(user)
	w.measures = w.openMeasures(o, user.Telemetry)
	transport, err := w.newTransport(o)
	if err != nil {
		return err
	}
	w.store, err = sqlite.Open(ctx, sqlite.Config{
		Dir: dirs.Data, Version: o.Version, Logger: w.logger, ReadOnly: w.lease == nil, CheckLease: w.lease.Check,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if err := w.store.FindDamage(); err != nil {
		notifyUser(o, fmt.Sprintf("nothing can be written, and what is shown may be incomplete: %v; %s", err, check.SalvageFix))
	} else if why := w.store.DescribeUnchecked(); why != "" {
		notifyUser(o, why+"; cairn fsck checks what is there")
	}
	ids := &session.IDs{}
	watched := store.TrackDamage(w.store)
	log := eventlog.New(eventlog.Config{Store: watched, IDs: ids, OnDelete: func() {
		w.search.forget()
	}})
	w.log = log
	w.locations = w.newLocations(o, user, transport, ids)
	w.locations.projects = &project.Finder{
		Store: watched, IDs: ids, OnChange: w.announceProject, OnDrop: w.recordDropped,
	}
	w.locations.reach = &reach.Guard{
		Sessions: watched, Home: dirs.Home, Served: o.Dir,
		FindRecord: func(ctx context.Context, dir string) (session.RecordID, error) {
			pr, err := w.locations.projects.Peek(ctx, dir)
			return pr.RecordID, err
		},
	}
	w.removeScratch()
	w.removeUnusedCaches(time.Now())
	files := sessionFiles{w.locations.outputs, w.locations.snapshots.blobs, w.locations.snapshots, filepath.Join(dirs.Data, "import")}
	locks := newWorktreeLocks()
	w.openSearch(user.Storage.Search.MaxBytes())
	w.openShares(o.Env)
	w.engine = engine.New(engine.Config{
		Store: watched, Log: log, IDs: ids, Locations: w.locations,
		Outputs: files, Files: files, Checkouts: checkouts{w.locations.projects, locks},
		Limits: engineLimits(user.Limits), Logger: w.logger, Version: o.Version, Audit: audit.New(dirs.Data), CheckRoom: w.checkRoom, MakeRoom: w.makeRoom,
		OnCreate: w.shareNew,
	})
	w.terminals = pty.New(ids, func(c pty.Change) { w.v1.TerminalChanged(c) })
	w.worktrees = newWorktrees(w.locations, watched, locks, worktreeWork{
		sessions: w.engine.Active, jobs: w.engine.Jobs.ListRunning, terminals: w.terminals.ListAll,
	})
	w.openSurfaces(o, user, watched, ids)
	return nil
}

// openSurfaces makes both APIs of the owner.
func (w *owner) openSurfaces(o client.Options, user *config.Config, watched store.Store, ids *session.IDs) {
	w.v1 = v1.New(v1.Config{
		Commands: w.engine.Commands, Reverts: w.engine.Commands, Asks: w.engine.Asks, Runs: w.engine,
		Store: watched, Log: w.log, IDs: ids,
		Shares:    shareAPI{w},
		Worktrees: w.worktrees, Backend: v1Backend{w.locations}, Credentials: v1Backend{w.locations}, Terminals: w.terminals,
		Directory: o.Dir, Version: o.Version, Head: project.HeadLine, Condition: w.store.WriteError, Logger: w.logger,
		WriteMetrics: w.metricsWriter(user.Telemetry.Prometheus),
	})
	w.v2 = v2.New(v2.Config{
		Commands: w.engine.Commands, Inbox: w.engine.Commands, Reverts: w.engine.Commands, Asks: w.engine.Asks,
		Runs: w.engine, Jobs: w.engine.Jobs, Archive: w.engine.Archive,
		Store: watched, Log: w.log, IDs: ids,
		Locations: w.locations, Projects: projectRecords{w.locations}, Worktrees: w.worktrees, Files: w.locations,
		Explainer: w.locations,
		Searcher:  w.search, Storage: ownerStorage{w}, Editors: w.locations.editors, Shares: shareAPI{w},
		Requests:  nextrequest.Inspector{Engine: w.engine, Store: watched},
		Doctor:    ownerDoctor{watched, w.store.WriteError, w.store, w.dirs, o},
		Directory: o.Dir, Condition: w.store.WriteError, Logger: w.logger, Health: api.Health{
			Version: o.Version, PID: os.Getpid(), Sandbox: w.locations.newSandbox, Problem: w.store.DescribeUnchecked(),
		},
	})
}

// setStorage takes the settings of the storage, and remembers which of them are invalid.
func (w *owner) setStorage(user *config.Config) {
	w.mirrorDir = user.Storage.Mirror.In(w.dirs)
	w.retention, w.quota = user.Storage.Retention.Policy(), int64(user.Storage.Quota)
	for _, warning := range user.Warnings {
		if strings.HasPrefix(warning.Key, "storage.") {
			w.leftOut = append(w.leftOut, warning.String())
		}
	}
}

func (w *owner) newLocations(
	o client.Options, user *config.Config, transport http.RoundTripper, ids *session.IDs,
) *locationCache {
	logins := mcpauth.New(w.dirs.Data, o.Env)
	l := &locationCache{
		logins: logins,
		mcp: mcp.NewPool(mcp.Options{
			Version: o.Version, Supervisor: process.SupervisorCommand(), Log: w.logger,
			Approvals: mcp.NewApprovals(filepath.Join(w.dirs.Data, "mcp-tools.json")),
			Offers:    mcp.NewOfferCache(filepath.Join(w.dirs.Data, "mcp-offers")),
			Login:     logins.Handler, LoginStamp: logins.Stamp, WrapTransport: w.measures.wrapTransport,
			OnChange: func(directory, server string, listed bool) {
				w.log.Notify(v2.NewServerNotice(directory, server))
				if listed {
					w.v1.AnnounceServer(directory, server)
				}
			},
		}),
		showNote: func(id session.ID, source, text string) {
			w.log.Notify(v2.NewNote(session.Note{SessionID: id, Source: source, Text: text}))
		},
		listAtWork: w.listAtWork,
		languages: &languages{
			opened: map[string]openLanguages{}, onChange: func(directory string) { w.v1.AnnounceLanguages(directory) },
			warn: func(directory, text string) {
				w.logger.Warn("a language server is not used", "directory", directory, "reason", text)
			},
		},
		dirs: w.dirs, getenv: o.Env,
		models: models.NewPool(models.Options{
			Dirs: w.dirs, Getenv: o.Env, Version: o.Version, Transport: transport, Embedded: o.Program.Models,
		}),
		outputs: &tool.Outputs{
			Dir: filepath.Join(w.dirs.Data, "tool-output"), IDs: ids, Log: w.logger, File: int64(user.Limits.Output),
		},
		files: file.NewTracker(), snapshots: newSnapshots(w.dirs.Data, w.logger),
		remotes: newRemotes(w.dirs, o, w.logger), trust: newTrustJudge(w.dirs, o),
		logger: w.logger, newSandbox: o.Sandbox, measures: w.measures,
		sender: notify.NewSender(notify.Options{
			Find: func(ctx context.Context, id session.ID) (*session.Session, error) {
				return store.ReadSession(ctx, w.store, id)
			},
			Supervisor: process.SupervisorCommand(), Transport: provider.NewLazyTransport(), Logger: w.logger,
		}),
		editors: newEditors(w.findRoot), program: o.Program, plugins: w.newPlugins(ids), limit: maxLocations, slots: map[string]*locationSlot{},
	}
	l.life, l.end = context.WithCancelCause(context.Background())
	if o.Replay == "" {
		l.pages = &webcache.Pages{
			Dir: filepath.Join(w.dirs.Cache, "pages"), Transport: web.MarkRequests(http.DefaultTransport),
			Allow: user.Webfetch.AllowedNetworks(),
		}
	}
	return l
}

// newTransport returns the transport to providers: the network, recorded if wanted, or a replay of a recording.
func (w *owner) newTransport(o client.Options) (http.RoundTripper, error) {
	switch {
	case o.Replay != "":
		p, err := replay.Open(o.Replay)
		if err != nil {
			return nil, session.Errorf(session.CodeInvalid, "%v", err).At("replay")
		}
		return p, nil
	case o.Record != "":
		w.recorder = replay.NewRecorder(o.Record, w.measures.wrapTransport(provider.NewLazyTransport()))
		return w.recorder, nil
	default:
		return w.measures.wrapTransport(provider.NewLazyTransport()), nil
	}
}

func engineLimits(l config.Limits) engine.Limits {
	return engine.Limits{
		Pending: int(l.Inbox), Sessions: int(l.Sessions), Tools: int(l.Tools), Turns: int(l.Turns),
		Attempts: int(l.Attempts), AnswerBytes: int(l.Answer),
	}
}

// NewLogger returns a logger to standard error, at the level of CAIRN_LOG, which is error if it is not set.
func NewLogger(getenv func(string) string) *slog.Logger {
	name, level := config.Getenv(getenv, "LOG"), slog.LevelError
	err := level.UnmarshalText([]byte(name))
	if err != nil {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if err != nil && name != "" {
		logger.Error("CAIRN_LOG is not debug, info, warn or error; errors are logged", "value", name)
	}
	return logger
}

// recover resumes the work that an earlier owner left unfinished, except work that waits for a person, and reports
// both. In a damaged store it does nothing.
func (w *owner) recover(ctx context.Context, o client.Options) error {
	if w.store.DegradedError() != nil {
		return nil
	}
	const most = 10
	left, err := w.engine.Recover(ctx)
	for i, l := range left {
		switch {
		case i == most:
			notifyUser(o, fmt.Sprintf("%d more sessions were cut off; see cairn session list --all", len(left)-most))
			return err
		case l.Recovery == session.RecoveryPause:
			notifyUser(o, describe.DescribePaused(l.SessionID, l.Directory))
		default:
			notifyUser(o, fmt.Sprintf("resuming the session %s of %s, which was cut off", l.SessionID, l.Directory))
		}
	}
	return err
}

// close ends work so that the next owner can resume it, then streams, then the store, and releases the lease last.
func (w *owner) close(ctx context.Context) error {
	err := w.engine.Close(ctx)
	w.v1.Close()
	w.v2.Close()
	return errors.Join(err, w.release())
}

func (w *owner) release() error {
	if w.stopSweeps != nil {
		w.stopSweeps()
		w.sweeps.Wait()
	}
	if w.sharePages != nil {
		w.sharePages.Close()
	}
	if w.worktrees != nil {
		w.worktrees.close()
	}
	if w.terminals != nil {
		w.terminals.Close()
	}
	if w.locations != nil {
		w.locations.close()
		w.locations.mcp.Close()
		w.locations.languages.close()
		w.locations.plugins.pool.Close()
	}
	w.closeTelemetry()
	if w.locations != nil && w.locations.pages != nil {
		w.locations.pages.Close()
	}
	var errs []error
	w.removeScratch()
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

func notifyUser(o client.Options, text string) {
	if o.Note != nil {
		o.Note(text)
	}
}

// findRoot returns the root of the tree of a session, the session itself if it cannot be read.
func (w *owner) findRoot(ctx context.Context, id session.ID) session.ID {
	root, err := store.Query(ctx, w.store, func(r store.Reader) (session.ID, error) { return store.FindRoot(r, id) })
	if err != nil {
		return id
	}
	return cmp.Or(root, id)
}

// listAtWork returns the sessions at work in a directory. One that cannot be read is left out.
func (w *owner) listAtWork(ctx context.Context, dir string) (ids []session.ID) {
	for _, id := range w.engine.Active() {
		if s, err := store.ReadSession(ctx, w.store, id); err == nil && s.Location.Directory == dir {
			ids = append(ids, id)
		}
	}
	return ids
}
