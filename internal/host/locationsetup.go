package host

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/instruction"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// locationSetup holds the configuration, agents and scope of one directory. It never changes: another configuration
// gets another setup.
type locationSetup struct {
	config  *config.Config
	project project.Project
	earlier []string // directories whose sessions go on in this one, since the project was moved
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
	plugins      pluginState
}

// newSetup sets up what a directory offers with the plugins: models, tools, agents, skills and the sources of the system
// context.
func (l *locationCache) newSetup(cfg *config.Config, pr project.Project, loaded pluginState) (*locationSetup, error) {
	p := &locationSetup{config: cfg, project: pr, plugins: loaded}
	skillOptions := l.skillOptions(cfg, pr)
	p.skills, p.plans = skill.NewCache(skillOptions), filepath.Join(l.dirs.Data, "plans")
	p.instructions = l.instructionOptions(cfg, pr)
	// The folders outside of the project that agents use without an ask.
	allowed := append([]string{l.outputs.Dir, cell.ScratchDir(l.dirs)}, skillOptions.UserFolders()...)
	for _, r := range listReferences(p) { // the context sends the agent there
		allowed = append(allowed, r.Path)
	}
	// Models come before agents, which may name a model without its provider.
	var err error
	if p.models, err = l.models.BuildWith(cfg, loaded.transports); err != nil {
		return nil, err
	}
	cfg.ResolveBareModels(p.models.FindBare)
	// MCP servers come before agents, whose default rules name their tools.
	// Plugins may add to them, and to language servers: a setup before its plugins leaves those that run alone.
	if p.servers = l.mcp.Find(pr.Directory); p.servers == nil || loaded.isLoaded {
		p.servers = l.mcp.Open(mcp.Location{
			Directory: pr.Directory, Servers: cfg.MCP, Untrusted: cfg.UntrustedServers,
			Environment: process.Environment{Deny: p.models.SecretVariables()},
			Timeout:     max(0, time.Duration(cfg.Experimental.MCPTimeout)),
		})
	}
	p.agents = agent.New(cfg, agent.Options{
		Allowed: allowed, Plans: p.plans, Asking: slices.Concat(p.servers.Actions(), loaded.toolNames(), l.program.Asking),
	})
	p.tools = l.newToolConfig(cfg, pr, p.models, allowed)
	if p.languages = l.languages.find(pr.Directory); p.languages == nil || loaded.isLoaded {
		p.languages, err = l.languages.open(cfg, pr, process.Environment{Deny: p.models.SecretVariables()})
		if err != nil {
			return nil, err
		}
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
	p.scope.Extensions = slices.Concat(p.servers.Actions(), loaded.toolNames())
	p.scope.SaveOutput = l.outputs.Save
	p.scope.NewSandbox = l.newSandbox
	p.scope.Chain, p.scope.Models = l.newChain(p), l.measures.wrapModels(p.models)
	if cfg.Snapshot {
		p.scope.Files = l.snapshots.findWorktree(pr)
		if cfg.LSP != nil {
			p.scope.Files = &watchedWorktree{p.scope.Files, p.languages.NoteChanged}
		}
	}
	return p, nil
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
	for key, producer := range l.program.Sources {
		if _, err := r.Register(key, producer); err != nil {
			return nil, err
		}
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
