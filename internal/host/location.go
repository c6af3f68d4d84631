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

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/instruction"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/location/notify"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/reach"
	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/process"
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
	sender     *notify.Sender      // of messages to people
	// showNote shows a text to people who follow a session.
	showNote func(id session.ID, source, text string)

	reach *reach.Guard // of requests; nil: without limit
	mcp   *mcp.Pool
	// logins are those at MCP servers.
	logins *mcpauth.Logins
	// languages are the language servers.
	languages *languages

	port atomic.Int32 // at which this process listens; 0 without TCP
	// recordChanges counts the changes of records that may make another project of a location.
	recordChanges atomic.Int64

	limit int // slots that are kept at most, beside those in use

	mu    sync.Mutex               // guards slots
	slots map[string]*locationSlot // by directory without links
}

// locationSlot holds the setup of one directory.
type locationSlot struct {
	mu        sync.Mutex     // guards the rest; held while the setup is built
	setup     *locationSetup // nil before the first build
	changes   int64          // recordChanges before the build
	checkedAt time.Time      // when git was asked for the project
	usedAt    time.Time
	users     int // turns and other work that use the scope; the slot is not evicted meanwhile
}

// locationSetup holds the configuration, agents and scope of one directory. It never changes: another configuration
// gets another setup.
type locationSetup struct {
	config  *config.Config
	project project.Project
	agents  *agent.Set
	scope   *scope.Scope
	skills  *skill.Cache
	plans   string // the directory of plans outside of repositories
	// instructions find the instruction files.
	instructions instruction.Options
	models       *models.Set
	tools        toolConfig
	languages    *lsp.Manager
	servers      *mcp.Set
	serverTools  *mcp.Tools // of servers, in the registry of the scope
}

const (
	maxLocations     = 64
	locationIdleTime = time.Hour
	projectRecheck   = 5 * time.Second
	recordRecheck    = time.Minute // of one that could not be stored: git walks the history for a new record
)

// Scope implements scope.Scopes.
func (l *locationCache) Scope(ctx context.Context, at session.Location) (*scope.Scope, func(), error) {
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

// load returns the current setup of a directory.
func (l *locationCache) load(ctx context.Context, dir string) (*locationSetup, error) {
	s, err := l.acquireSlot(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.setup, nil
}

// acquireSlot returns the slot of a directory with its mu locked. The setup is built if it is missing, or if the
// configuration, the project, the models or an organisation's configuration may have changed.
func (l *locationCache) acquireSlot(ctx context.Context, dir string) (*locationSlot, error) {
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
	servers, languages := l.mcp.CloseLocation(dir), l.languages.drop(dir)
	return func() {
		servers()
		languages()
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
	return s.changes == l.recordChanges.Load() && s.setup.config.IsFresh() && s.setup.models.IsFresh() && !l.remotes.IsDue() && l.isSameProject(ctx, s)
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

// build reads the project and the configuration of a directory and sets up what it offers: models, tools, agents,
// skills and the sources of the system context.
func (l *locationCache) build(ctx context.Context, dir string) (*locationSetup, error) {
	if err := l.checkLocation(dir); err != nil {
		return nil, err
	}
	// All else depends on the project and its configuration.
	pr, err := l.projects.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	cfg, err := l.loadConfig(ctx, pr)
	if err != nil {
		return nil, err
	}
	p := &locationSetup{config: cfg, project: pr}
	skillOptions := l.skillOptions(cfg, pr)
	p.skills, p.plans = skill.NewCache(skillOptions), filepath.Join(l.dirs.Data, "plans")
	p.instructions = l.instructionOptions(cfg, pr)
	// The folders outside of the project that agents use without an ask.
	allowed := append([]string{l.outputs.Dir, cell.ScratchDir(l.dirs)}, skillOptions.UserFolders()...)
	for _, r := range listReferences(p) { // the context sends the agent there
		allowed = append(allowed, r.Path)
	}
	// Models come before agents, which may name a model without its provider.
	if p.models, err = l.models.Build(cfg); err != nil {
		return nil, err
	}
	cfg.ResolveBareModels(p.models.FindBare)
	// MCP servers come before agents, whose default rules name their tools.
	p.servers = l.mcp.Open(mcp.Location{
		Directory: pr.Directory, Servers: cfg.MCP, Untrusted: cfg.UntrustedServers,
		Environment: process.Environment{Deny: p.models.SecretVariables()},
		Timeout:     max(0, time.Duration(cfg.Experimental.MCPTimeout)),
	})
	p.agents = agent.New(cfg, agent.Options{Allowed: allowed, Plans: p.plans, Asking: p.servers.Actions()})
	p.tools = l.newToolConfig(cfg, pr, p.models, allowed)
	p.languages, err = l.languages.open(cfg, pr, process.Environment{Deny: p.models.SecretVariables()})
	if err != nil {
		return nil, err
	}
	p.tools.file.Diagnose = diagnoseWith(cfg, p.languages)
	if cfg.LSP != nil {
		p.tools.file.Warm = p.languages.OpenInBackground
	}
	// Assemble what turns use: tools, sources of the context, outputs, sandboxes and snapshots.
	registry, err := l.newRegistry(p)
	if err != nil {
		return nil, err
	}
	p.serverTools = mcp.NewTools(p.servers, registry)
	sources, err := l.contextSources(cfg, pr)
	if err != nil {
		return nil, err
	}
	p.scope = newScope(p, registry, sources)
	p.scope.MovedTo = func(ctx context.Context, s *session.Session) (string, error) {
		return l.projects.FindMovedSession(ctx, pr, s)
	}
	p.scope.Extensions = p.servers.Actions()
	p.scope.SaveOutput = l.outputs.Save
	p.scope.NewSandbox = l.newSandbox
	p.scope.Chain, p.scope.Models = l.newChain(p), l.measures.wrapModels(p.models)
	if cfg.Snapshot {
		p.scope.Files = l.snapshots.findWorktree(pr)
		if cfg.LSP != nil {
			p.scope.Files = &watchedWorktree{p.scope.Files, p.languages.NoteChanged}
		}
	}
	l.logWarnings(p)
	return p, nil
}

// logWarnings logs settings of a location that have no effect, such as an unknown effort: clients of a server do not
// see them otherwise.
func (l *locationCache) logWarnings(p *locationSetup) {
	for _, w := range slices.Concat(p.config.Warnings, p.agents.Warnings()) {
		l.logger.Warn("a setting has no effect", "directory", p.project.Directory, "reason", w.String())
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

func (l *locationCache) loadConfig(ctx context.Context, pr project.Project) (*config.Config, error) {
	return config.Load(ctx, config.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Project: pr.History(), Trust: l.trust,
		Dirs: l.dirs, Env: l.getenv, Remotes: l.remotes.RefreshAndList(ctx),
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

// newScope returns what the engine uses of a setup.
func newScope(p *locationSetup, tools *tool.Registry, sources *systemcontext.Registry) *scope.Scope {
	agents := map[string]session.Agent{}
	for _, a := range p.agents.List() {
		agents[a.ID] = a
	}
	defaultAgent, _ := p.agents.Default()
	return &scope.Scope{
		Location: session.Location{Directory: p.project.Directory}, ProjectID: p.project.ID,
		RecordID: p.project.RecordID, Subpath: p.project.Subpath,
		Agents: agents, DefaultAgent: defaultAgent.ID, Models: p.models, Small: p.models.SmallModel, Tools: tools,
		Summaries:        p.config.Summaries,
		Budget:           p.config.Budget.Session(),
		Compaction:       compactionSettings(p.config.Compaction),
		ReportUsage:      p.models.ReportUsage,
		Sandbox:          func(agent string) session.SandboxMode { return p.config.SandboxOf(agent) },
		CheckSandbox:     cell.CheckMode,
		Layers:           func(a session.Agent) []permission.Layer { return p.agents.AgentLayers(a.ID) },
		Requests:         p.tools.permissionRequests,
		FindInstructions: p.instructions.FindNested,
		PlanPath: func(s *session.Session) string {
			return instruction.PlanPath(s, p.project.Worktree, p.plans)
		},
		// The sources of the location are read again for each turn, as are its skills.
		Context: func(ctx context.Context, in scope.ContextInput) (systemcontext.Context, error) {
			all, err := sources.Load(ctx)
			if err != nil {
				return nil, err
			}
			layers := p.agents.AgentLayers(in.Agent.ID)
			skills := skill.Context(p.skills.Find(), layers)
			return systemcontext.Combine(
				all, skills, p.servers.Context(layers), p.serverTools.Context(), turnSources(ctx, p, in),
			)
		},
	}
}

// compactionSettings returns the engine's form of the settings.
func compactionSettings(c config.Compaction) scope.CompactionSettings {
	out := scope.CompactionSettings{
		Auto: c.Auto, Stop: !c.Continue, Reserved: int64(c.Buffer), Keep: int64(c.Keep.Tokens), Turns: -1,
	}
	if c.TailTurns != nil {
		out.Turns = int64(*c.TailTurns)
	}
	if c.Prune != nil {
		out.Prune = scope.PruneNever
		if *c.Prune {
			out.Prune = scope.PruneEager
		}
	}
	return out
}

// contextSources registers the location's sources of the system context: where it is, and its instruction files.
func (l *locationCache) contextSources(cfg *config.Config, pr project.Project) (*systemcontext.Registry, error) {
	r := &systemcontext.Registry{}
	environment := instruction.Environment{Directory: pr.Directory, Worktree: pr.Worktree}
	if err := instruction.RegisterEnvironment(r, environment); err != nil {
		return nil, err
	}
	return r, instruction.Register(r, l.instructionOptions(cfg, pr))
}

// instructionOptions says where the instruction files of a location are.
func (l *locationCache) instructionOptions(cfg *config.Config, pr project.Project) instruction.Options {
	return instruction.Options{
		Config: l.dirs.Config, Foreign: l.dirs.Foreign, Home: l.dirs.Home,
		Directory: pr.Directory, Worktree: pr.Worktree,
		DisableProject: config.IsSwitchOn(l.getenv, "DISABLE_PROJECT_CONFIG"),
		DisableClaude:  config.DisabledForeignFiles(l.getenv).Prompts,
		Configured:     cfg.Instructions, Pages: l.pages,
	}
}

// skillOptions says where the skills of a location are.
func (l *locationCache) skillOptions(cfg *config.Config, pr project.Project) skill.Options {
	disabled := config.DisabledForeignFiles(l.getenv)
	return skill.Options{
		Config: l.dirs.Config, Foreign: l.dirs.Foreign, Home: l.dirs.Home,
		Directory: pr.Directory, Worktree: pr.Worktree,
		Paths: cfg.Skills.Paths, URLs: cfg.Skills.URLs, Pages: l.pages, Trusted: cfg.Trusted,
		Downloads:      filepath.Join(l.dirs.Cache, "skills"),
		DisableProject: config.IsSwitchOn(l.getenv, "DISABLE_PROJECT_CONFIG"),
		DisableClaude:  disabled.Claude, DisableExternal: disabled.External,
	}
}

// Location implements v2.Locations.
func (l *locationCache) Location(ctx context.Context, at session.Location) (api.LocationInfo, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return api.LocationInfo{}, err
	}
	info := api.LocationInfo{
		Directory: p.project.Directory, Repository: p.project.Main, RecordID: p.project.RecordID, Unlinked: p.project.Unlinked,
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
