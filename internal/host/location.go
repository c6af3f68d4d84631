package host

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/location/notify"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/reach"
	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// locationCache builds what directories offer and keeps it while their configuration stays the same. It implements
// scope.Scopes, which the engine uses, and v2.Locations.
type locationCache struct {
	dirs       config.Directories
	getenv     func(string) string
	projects   *project.Finder
	models     *models.Pool
	outputs    *tool.Outputs
	files      *file.Tracker
	snapshots  *snapshots
	trust      *trust.Judge
	remotes    *wellknown.Remotes
	pages      *webcache.Pages // nil: no page of a configuration is fetched
	logger     *slog.Logger
	newSandbox session.SandboxMode // of sessions that begin in this process, at least
	measures   *measures           // nil without telemetry
	search     *sessionSearch      // nil without an index
	sender     *notify.Sender      // of messages to people
	// showNote shows a text to people who follow a session.
	showNote func(id session.ID, source, text string)

	reach *reach.Guard // of requests; nil: without limit
	mcp   *mcp.Pool
	// logins are those at MCP servers.
	logins *mcpauth.Logins
	// languages are the language servers.
	languages *languages
	plugins   *plugins // nil: none run

	port atomic.Int32 // at which this process listens; 0 without TCP
	// recordChanges counts the changes of records that may make another project of a location.
	recordChanges atomic.Int64

	limit int // slots that are kept at most, beside those in use

	mu    sync.Mutex               // guards slots
	slots map[string]*locationSlot // by directory without links
}

// locationSlot holds the setup of one directory.
type locationSlot struct {
	mu    sync.Mutex     // guards the rest; held while the setup is built
	setup *locationSetup // nil before the first build
	// bare is the setup without plugins while these are loaded. Their own requests get it; all others wait.
	bare      atomic.Pointer[locationSetup]
	changes   int64     // recordChanges before the build
	checkedAt time.Time // when git was asked for the project
	usedAt    time.Time
	users     int // turns and other work that use the scope; the slot is not evicted meanwhile
}

const (
	maxLocations     = 64
	locationIdleTime = time.Hour
	projectRecheck   = 5 * time.Second
	recordRecheck    = time.Minute // of one that could not be stored: git walks the history for a new record
)

// Scope implements scope.Scopes.
func (l *locationCache) Scope(ctx context.Context, at session.Location) (*scope.Scope, func(), error) {
	if bare := l.findBare(ctx, at.Directory); bare != nil {
		return bare.scope, func() {}, nil
	}
	s, err := l.acquireSlot(ctx, at.Directory)
	if err != nil {
		return nil, nil, err
	}
	s.users++
	setup := s.setup
	s.mu.Unlock()
	// Start the MCP servers beside the first turn, and take the tools of those that are there.
	setup.servers.Start()
	setup.servers.AwaitRequired(ctx)
	setup.serverTools.Sync()
	return setup.scope, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.users--
		s.usedAt = time.Now()
	}), nil
}

// FindMoved implements scope.Scopes.
func (l *locationCache) FindMoved(ctx context.Context, s *session.Session, here *scope.Scope) (string, error) {
	var record session.RecordID
	if here != nil {
		record = here.RecordID
	}
	return l.projects.FindMoved(ctx, s, record)
}

// load returns the current setup of a directory.
func (l *locationCache) load(ctx context.Context, dir string) (*locationSetup, error) {
	if bare := l.findBare(ctx, dir); bare != nil {
		return bare, nil
	}
	s, err := l.acquireSlot(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.setup, nil
}

// findBare returns the setup that a request of a plugin gets while the plugins of the directory are loaded; nil for other
// requests.
func (l *locationCache) findBare(ctx context.Context, dir string) *locationSetup {
	own := plugin.DirectoryOf(ctx)
	if own == "" || dir == "" {
		return nil
	}
	if s := l.findSlot(dir); s == l.findSlot(own) {
		return s.bare.Load()
	}
	return nil
}

// acquireSlot returns the slot of a directory with its mu locked and its plugins loaded. Plugins change what the
// configuration says: then the setup is built again, with them.
func (l *locationCache) acquireSlot(ctx context.Context, dir string) (*locationSlot, error) {
	s, err := l.acquireBareSlot(ctx, dir)
	if err != nil || !s.setup.awaitsPlugins {
		return s, err
	}
	s.bare.Store(s.setup)
	defer s.bare.Store(nil)
	whole, err := l.addPlugins(ctx, s.setup)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.setup = whole
	return s, nil
}

// acquireBareSlot returns the slot of a directory with its mu locked. The setup is built if it is missing, or if the
// configuration, the project, the models or an organisation's configuration may have changed; its plugins may not be
// loaded.
func (l *locationCache) acquireBareSlot(ctx context.Context, dir string) (*locationSlot, error) {
	if dir == "" {
		return nil, session.Errorf(session.CodeInvalid, "the location has no directory").At("location.directory")
	}
	if l.reach != nil {
		if err := l.reach.CheckDirectory(ctx, dir); err != nil {
			return nil, err
		}
	}
	s := l.findSlot(dir)
	s.mu.Lock()
	s.usedAt = time.Now()
	if s.setup != nil && l.isCurrent(ctx, s) {
		return s, nil
	}
	changes := l.recordChanges.Load()
	setup, err := l.build(ctx, dir)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.setup, s.changes, s.checkedAt = setup, changes, time.Now()
	return s, nil
}

// Servers implements v2.Locations.
func (l *locationCache) Servers(ctx context.Context, at session.Location) (*mcp.Set, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return p.servers, nil
}

// ForgetLocation implements v1.Backend and v2.Locations.
func (l *locationCache) ForgetLocation(at session.Location) {
	s := l.findSlot(at.Directory)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setup = nil
}

// findSlot returns the slot of a directory and adds it if it is missing. All names of a directory have one slot, as they
// have the same servers.
func (l *locationCache) findSlot(dir string) *locationSlot {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[dir]
	if s == nil {
		l.evict()
		s = &locationSlot{usedAt: time.Now()}
		l.slots[dir] = s
	}
	return s
}

// evict removes the slots that were idle for long and, if there are too many, the least recently used one. Slots in use
// stay. mu is held.
func (l *locationCache) evict() {
	var oldest string
	var last time.Time
	for d, s := range l.slots {
		if !s.mu.TryLock() {
			continue // its setup is being built
		}
		used, users := s.usedAt, s.users
		s.mu.Unlock()
		switch {
		case users > 0:
		case time.Since(used) > locationIdleTime:
			l.dropSlot(d)
		case oldest == "" || used.Before(last):
			oldest, last = d, used
		}
	}
	if len(l.slots) >= l.limit {
		l.dropSlot(oldest)
	}
}

// dropSlot removes the slot of a directory and ends what runs for it, in the background. The returned function waits for
// that. mu is held.
func (l *locationCache) dropSlot(dir string) (wait func()) {
	delete(l.slots, dir)
	if l.mcp == nil {
		return func() {}
	}
	servers, languages, plugins := l.mcp.CloseLocation(dir), l.languages.drop(dir), func() {}
	if l.plugins != nil {
		plugins = l.plugins.pool.CloseLocation(dir)
	}
	return func() {
		servers()
		languages()
		plugins()
	}
}

// closeBelow ends the MCP and language servers of a directory, without links, and of those below it, and returns when they
// have ended. Locations that are in use stay.
func (l *locationCache) closeBelow(dir string) {
	var ending []func()
	l.mu.Lock()
	for d, s := range l.slots {
		if !isBelow(dir, d) || !s.mu.TryLock() {
			continue
		}
		isUsed := s.users > 0
		s.mu.Unlock()
		if !isUsed {
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

// isCurrent reports whether the setup of a slot is what build would return.
func (l *locationCache) isCurrent(ctx context.Context, s *locationSlot) bool {
	return s.changes == l.recordChanges.Load() && s.setup.config.IsFresh() && s.setup.models.IsFresh() && !l.remotes.IsDue() &&
		l.arePluginsFresh(s.setup) && l.isSameProject(ctx, s)
}

// isSameProject reports whether the directory still is the project that it was when the setup was built. It runs for
// every turn, so it costs a stat of the directory and of its repository, outside of one a stat for each folder above. From
// time to time a project is found again that can change without that: a repository without commits, a checkout whose
// repository does not know it, and one whose record could not be stored.
func (l *locationCache) isSameProject(ctx context.Context, s *locationSlot) bool {
	before := s.setup.project
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

// build reads the project and the configuration of a directory and sets up what it offers without plugins.
func (l *locationCache) build(ctx context.Context, dir string) (*locationSetup, error) {
	if err := l.checkLocation(dir); err != nil {
		return nil, err
	}
	// All else depends on the project and its configuration.
	pr, err := l.projects.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	earlier, err := l.projects.ListEarlier(ctx, pr)
	if err != nil {
		return nil, err
	}
	cfg, err := l.loadConfig(ctx, pr, nil)
	if err != nil {
		return nil, err
	}
	p, err := l.newSetup(cfg, pr, pluginState{})
	if err != nil {
		return nil, err
	}
	p.earlier = earlier
	if p.awaitsPlugins = l.hasPlugins(p); !p.awaitsPlugins {
		l.logWarnings(p)
	}
	return p, nil
}

// logWarnings logs settings of a location that have no effect, such as an unknown effort: clients of a server do not
// see them otherwise.
func (l *locationCache) logWarnings(p *locationSetup) {
	for _, w := range slices.Concat(p.config.Warnings, p.agents.Warnings()) {
		l.logger.Warn("a setting has no effect", "directory", p.project.Directory, "reason", w.String())
	}
	for id, err := range p.plugins.problems {
		l.logger.Warn("a plugin is not there, or not all of it", "directory", p.project.Directory, "plugin", id, "reason", err)
	}
	for _, address := range p.config.Instructions {
		if l.pages == nil || !strings.Contains(address, "://") {
			continue
		}
		if err := l.pages.Check(address); err != nil {
			l.logger.Warn("a setting has no effect", "directory", p.project.Directory,
				"reason", "instructions: "+webcache.ShowAddress(address)+" "+err.Error())
		}
	}
}

// loadConfig reads the configuration of a project, with what plugins make of it; nil before they are loaded.
func (l *locationCache) loadConfig(
	ctx context.Context, pr project.Project, changes *config.PluginChanges,
) (*config.Config, error) {
	return config.Load(ctx, config.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Project: pr.History(), Trust: l.trust,
		Dirs: l.dirs, Env: l.getenv, Remotes: l.remotes.RefreshAndList(ctx), Plugins: changes,
	})
}

// unaskedConfinement returns how commands are confined that belong to no session and run without an ask.
func (l *locationCache) unaskedConfinement(cfg *config.Config, readOnly bool) tool.Confinement {
	mode := l.newSandbox.ChooseStricter(cfg.SandboxOf(""))
	if readOnly {
		return tool.Confinement{Mode: mode.ChooseStricter(session.SandboxWrites), ReadOnly: true}
	}
	if mode == "" {
		return tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	}
	return tool.Confinement{Mode: mode}
}

// Location implements v2.Locations.
func (l *locationCache) Location(ctx context.Context, at session.Location) (api.LocationInfo, error) {
	p := l.findBare(ctx, at.Directory)
	if p == nil { // lists do not wait for plugins
		s, err := l.acquireBareSlot(ctx, at.Directory)
		if err != nil {
			return api.LocationInfo{}, err
		}
		p = s.setup
		s.mu.Unlock()
	}
	info := api.LocationInfo{
		Directory: p.project.Directory, Repository: p.project.Main, RecordID: p.project.RecordID, Unlinked: p.project.Unlinked,
		Earlier: p.earlier,
	}
	info.Project.ID, info.Project.Directory = p.project.ID, cmp.Or(p.project.Worktree, "/")
	if ref, err := p.models.Default(); err == nil { // else a prompt says why
		info.Model = &ref
	}
	return info, nil
}

// Agents implements v2.Locations.
func (l *locationCache) Agents(ctx context.Context, at session.Location) ([]session.Agent, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return p.agents.List(), nil
}

// Skills implements v2.Locations.
func (l *locationCache) Skills(ctx context.Context, at session.Location) ([]api.Skill, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	found := p.skills.Find()
	out := []api.Skill{}
	for _, s := range found.Skills {
		out = append(out, api.Skill{Name: s.Name, Description: s.Description, Location: s.Location, Content: s.Content})
	}
	for _, problem := range found.Problems {
		out = append(out, api.Skill{Location: problem.Path, Problem: problem.Message})
	}
	return out, nil
}

// Models implements v2.Locations.
func (l *locationCache) Models(ctx context.Context, at session.Location) ([]api.Model, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return convert[[]api.Model](p.models.AvailableModels())
}

// Providers implements v2.Locations.
func (l *locationCache) Providers(ctx context.Context, at session.Location) ([]api.Provider, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return convert[[]api.Provider](p.models.AvailableProviders())
}

// Explain implements v2.Explainer.
func (l *locationCache) Explain(ctx context.Context, at session.Location, key string) (jsontext.Value, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p.config.Explain(key), json.Deterministic(true))
}
