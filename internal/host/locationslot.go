package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/session"
)

// locationSlot holds the setups of one directory: the base, without plugins, and that with the plugins, which load beside
// it. A change ends the load and builds both again.
type locationSlot struct {
	// locationCache.mu guards these.
	users  int // requests, turns and loads that use the slot; it is not evicted meanwhile
	usedAt time.Time

	// turn holds a value while one caller checks and changes the rest. Others wait for it with their context, because the
	// base is built meanwhile.
	turn      chan struct{}
	base      *locationSetup // nil before the first build
	changes   int64          // locationCache.changes before the build
	checkedAt time.Time      // when git was asked for the project
	load      *pluginLoad    // the newest; nil before the first
}

// pluginLoad is a load of the plugins of a base. Its waiters leave with their own contexts.
type pluginLoad struct {
	base   *locationSetup
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the rest is set
	setup  *locationSetup
	err    error
}

const (
	maxLocations     = 64
	locationIdleTime = time.Hour
	projectRecheck   = 5 * time.Second
	recordRecheck    = time.Minute // of one that could not be stored: git walks the history for a new record
)

var (
	// errReplaced ends a load whose base is built again. It is no session.Error: these are equal by their codes.
	errReplaced = errors.New("the configuration has changed")
	errEnding   = session.Errorf(session.CodeUnavailable, "this process is ending")
)

// load returns the current setup of a directory with its plugins. Work that calls these for long uses acquire.
func (l *locationCache) load(ctx context.Context, dir string) (*locationSetup, error) {
	p, release, err := l.acquire(ctx, dir)
	if err == nil {
		release()
	}
	return p, err
}

// acquire returns the current setup of a directory with its plugins, whose load it awaits. Until release the slot is not
// evicted, and the plugins run, also if others take their place.
func (l *locationCache) acquire(ctx context.Context, dir string) (p *locationSetup, release func(), err error) {
	s, leave, err := l.useSlot(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	for {
		p, err := l.awaitSetup(ctx, s, dir)
		if err != nil {
			leave()
			return nil, nil, err
		}
		if end, ok := p.plugins.set.Use(); ok {
			return p, sync.OnceFunc(func() { end(); leave() }), nil
		} // else others have just taken their place
	}
}

// awaitSetup returns the setup of a slot with its plugins. A request of a plugin that is being loaded gets the base: the
// load may wait for its answer.
func (l *locationCache) awaitSetup(ctx context.Context, s *locationSlot, dir string) (*locationSetup, error) {
	for {
		base, load, err := l.startLoad(ctx, s, dir)
		if err != nil || load == nil {
			return base, err
		}
		if plugin.DirectoryOf(ctx) == base.project.Directory && !load.isDone() {
			return base, nil
		}
		select {
		case <-load.done:
			if !errors.Is(load.err, errReplaced) {
				return load.setup, load.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// findLoaded returns the current setup of a directory, without its plugins if they are not loaded: lists do not wait for
// them.
func (l *locationCache) findLoaded(ctx context.Context, dir string) (*locationSetup, error) {
	s, leave, err := l.useSlot(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer s.endTurn()
	base, err := l.refreshBase(ctx, s, dir)
	if load := s.currentLoad(); err == nil && load != nil && load.isDone() {
		return load.setup, nil
	}
	return base, err
}

// startLoad returns the current base of a slot and the load of its plugins, which it starts if there is none or if it is
// not up to date; nil if the base has no plugins.
func (l *locationCache) startLoad(ctx context.Context, s *locationSlot, dir string) (*locationSetup, *pluginLoad, error) {
	if err := s.takeTurn(ctx); err != nil {
		return nil, nil, err
	}
	defer s.endTurn()
	base, err := l.refreshBase(ctx, s, dir)
	if err != nil || base.plugins.isLoaded {
		return base, nil, err
	}
	if load := s.currentLoad(); load != nil && (!load.isDone() || load.setup.config.IsFresh() && l.arePluginsFresh(load.setup)) {
		return base, load, nil
	}
	// The load uses the slot, and ends with this process.
	running, cancel := context.WithCancelCause(l.life)
	load := &pluginLoad{base: base, cancel: cancel, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		cancel(nil)
		return nil, nil, errEnding
	}
	s.users++
	l.loads.Go(func() {
		defer l.leaveSlot(s)
		defer cancel(nil)
		defer close(load.done)
		if load.setup, load.err = l.addPlugins(running, base); running.Err() != nil {
			load.err = context.Cause(running)
		}
	})
	s.load = load
	return base, load, nil
}

// refreshBase returns the base of a slot, whose turn the caller has. It is built if it is missing, or if the configuration,
// the project, the models or an organisation's configuration may have changed.
func (l *locationCache) refreshBase(ctx context.Context, s *locationSlot, dir string) (*locationSetup, error) {
	if l.life.Err() != nil {
		return nil, errEnding
	}
	if s.base != nil && l.isCurrent(ctx, s) {
		return s.base, nil
	}
	// What a load opens last must not be of an earlier configuration.
	if load := s.load; load != nil {
		load.cancel(errReplaced)
		select {
		case <-load.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	changes := l.changes.Load()
	base, err := l.build(ctx, dir)
	if err != nil {
		return nil, err
	}
	if s.base != nil && s.base.config.Trusted && !base.config.Trusted && !base.config.Claim.IsEmpty() {
		l.noteEndedTrust(ctx, dir)
	}
	s.base, s.changes, s.checkedAt = base, changes, time.Now()
	return base, nil
}

// noteEndedTrust tells those who follow the sessions at work in a directory that its programs do not run any more.
func (l *locationCache) noteEndedTrust(ctx context.Context, dir string) {
	for _, id := range l.listAtWork(ctx, dir) {
		l.showNote(id, "trust", "what was trusted in "+dir+" has changed: its plugins, tools and hooks do not run any more, and its "+
			"rules allow nothing, until cairn trust is given again")
	}
}

// close ends the loads of plugins and returns when they have ended. No other one starts.
func (l *locationCache) close() {
	l.mu.Lock()
	l.end(errEnding)
	l.mu.Unlock()
	l.loads.Wait()
}

// currentLoad returns the load of the base that runs or has loaded the plugins, nil if there is none. The caller has the
// slot's turn.
func (s *locationSlot) currentLoad() *pluginLoad {
	if load := s.load; load != nil && load.base == s.base && !(load.isDone() && load.err != nil) {
		return load
	}
	return nil
}

// isDone reports whether the load has ended.
func (p *pluginLoad) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (s *locationSlot) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *locationSlot) endTurn() { <-s.turn }

// ForgetLocation implements v1.Backend and v2.Locations. It does not wait for setups that are built.
func (l *locationCache) ForgetLocation(session.Location) { l.changes.Add(1) }

// useSlot returns the slot of a directory that the caller may use, and keeps it until leave.
func (l *locationCache) useSlot(ctx context.Context, dir string) (s *locationSlot, leave func(), err error) {
	if dir == "" {
		return nil, nil, session.Errorf(session.CodeInvalid, "the location has no directory").At("location.directory")
	}
	if l.reach != nil && plugin.DirectoryOf(ctx) != dir { // plugins reach their own directory
		if err := l.reach.CheckDirectory(ctx, dir); err != nil {
			return nil, nil, err
		}
	}
	s = l.enterSlot(dir)
	return s, func() { l.leaveSlot(s) }, nil
}

// enterSlot returns the slot of a directory, which it adds if it is missing, with one more user. All names of a directory
// have one slot, as they have the same servers.
func (l *locationCache) enterSlot(dir string) *locationSlot {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[dir]
	if s == nil {
		l.evict()
		s = &locationSlot{turn: make(chan struct{}, 1)}
		l.slots[dir] = s
	}
	s.users++
	return s
}

func (l *locationCache) leaveSlot(s *locationSlot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.users--
	s.usedAt = time.Now()
}

// evict removes the slots that were idle for long and, if there are too many, the least recently used one. Slots in use
// stay. mu is held.
func (l *locationCache) evict() {
	var oldest string
	var last time.Time
	for d, s := range l.slots {
		switch {
		case s.users > 0:
		case time.Since(s.usedAt) > locationIdleTime:
			l.dropSlot(d)
		case oldest == "" || s.usedAt.Before(last):
			oldest, last = d, s.usedAt
		}
	}
	if len(l.slots) >= l.limit && oldest != "" {
		l.dropSlot(oldest)
	}
}

// dropSlot removes the slot of a directory and ends what runs for it, in the background. The returned function waits for
// that. mu is held.
func (l *locationCache) dropSlot(dir string) (wait func()) {
	delete(l.slots, dir)
	servers, languages, plugins := l.mcp.CloseLocation(dir), l.languages.drop(dir), l.plugins.closeLocation(dir)
	return func() {
		servers()
		languages()
		plugins()
	}
}

// closeBelow ends the MCP and language servers and the plugins of a directory, without links, and of those below it, and
// returns when they have ended. Locations that are in use stay.
func (l *locationCache) closeBelow(dir string) {
	var ending []func()
	l.mu.Lock()
	for d, s := range l.slots {
		if isBelow(dir, d) && s.users == 0 {
			ending = append(ending, l.dropSlot(d))
		}
	}
	l.mu.Unlock()
	for _, wait := range ending {
		wait()
	}
}

// isBelow reports whether a path is the directory or below it.
func isBelow(directory, path string) bool {
	rel, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(rel)
}

// isCurrent reports whether the base of a slot is what build would return.
func (l *locationCache) isCurrent(ctx context.Context, s *locationSlot) bool {
	return s.changes == l.changes.Load() && s.base.config.IsFresh() && s.areModelsFresh() && !l.remotes.IsDue() &&
		l.isSameProject(ctx, s)
}

// areModelsFresh reports whether the models need not be built again. Plugins may store credentials while they load, so
// those count that are built behind that.
func (s *locationSlot) areModelsFresh() bool {
	load := s.currentLoad()
	switch {
	case load == nil:
		return s.base.models.IsFresh()
	case load.isDone():
		return load.setup.models.IsFresh()
	default:
		return true
	}
}

// isSameProject reports whether the directory still is the project that it was when the setup was built. It runs for
// every turn, so it costs a stat of the directory and of its repository, outside of one a stat for each folder above. From
// time to time a project is found again that can change without that: a repository without commits, a checkout whose
// repository does not know it, and one whose record could not be stored.
func (l *locationCache) isSameProject(ctx context.Context, s *locationSlot) bool {
	before := s.base.project
	info, err := os.Stat(before.Directory)
	if err != nil || !info.IsDir() {
		return false
	}
	if !before.IsSameFile() {
		return false
	}
	if hasStableRecord := before.RecordID != "" && !before.Unlinked; hasStableRecord && (before.Root != "" || before.IsStillOutside()) {
		return true
	}
	wait := projectRecheck
	if before.RecordID == "" && before.Root != "" {
		wait = recordRecheck
	}
	if before.IsGit() == before.IsInCheckout() && time.Since(s.checkedAt) < wait {
		return true
	}
	s.checkedAt = time.Now()
	now, err := l.projects.Find(ctx, before.Directory)
	return err == nil && now == before
}
