package host

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/location/notify"
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
	// listAtWork returns the sessions at work in a directory.
	listAtWork func(ctx context.Context, dir string) []session.ID

	reach *reach.Guard // of requests; nil: without limit
	mcp   *mcp.Pool
	// logins are those at MCP servers.
	logins *mcpauth.Logins
	// languages are the language servers.
	languages *languages
	plugins   *plugins

	port atomic.Int32 // at which this process listens; 0 without TCP
	// changes counts what may make another setup of a location without a change of its files: those of records of projects,
	// and of servers that clients add.
	changes atomic.Int64

	renamedAt atomic.Int64 // when FollowRenamed last looked, in Unix milliseconds

	editors *editors       // of all sessions
	program client.Program // what this process adds to all locations

	limit int // slots that are kept at most, beside those in use

	life  context.Context // of loads of plugins; close ends it
	end   context.CancelCauseFunc
	loads sync.WaitGroup

	mu    sync.Mutex               // guards slots, and the start of loads
	slots map[string]*locationSlot // by directory without links
}

// Scope implements scope.Scopes.
func (l *locationCache) Scope(ctx context.Context, at session.Location) (*scope.Scope, func(), error) {
	setup, release, err := l.acquire(ctx, at.Directory)
	if err != nil {
		return nil, nil, err
	}
	if setup.plugins.isLoaded {
		// Start the MCP servers beside the first turn, and take the tools of those that are there.
		setup.servers.Start()
		setup.servers.AwaitRequired(ctx)
		setup.serverTools.Sync()
	}
	return setup.scope, release, nil
}

// FindMoved implements scope.Scopes.
func (l *locationCache) FindMoved(ctx context.Context, s *session.Session, here *scope.Scope) (string, error) {
	var record session.RecordID
	if here != nil {
		record = here.RecordID
	}
	return l.projects.FindMoved(ctx, s, record)
}

// Servers implements v2.Locations.
func (l *locationCache) Servers(ctx context.Context, at session.Location) (*mcp.Set, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return p.servers, nil
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
	hasPlugins := len(cfg.ListPlugins()) > 0
	p, err := l.newSetup(cfg, pr, pluginState{isLoaded: !hasPlugins})
	if err != nil {
		return nil, err
	}
	p.earlier = earlier
	if !hasPlugins {
		l.plugins.endLocation(pr.Directory)
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
		l.logger.Warn("a plugin does not run, or not all of it", "directory", p.project.Directory, "plugin", id, "reason", err)
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
	p, err := l.findLoaded(ctx, at.Directory)
	if err != nil {
		return api.LocationInfo{}, err
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
