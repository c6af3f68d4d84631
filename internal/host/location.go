package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/agent"
	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/instruction"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/skill"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/trust"
)

// locations builds what a directory offers, keeps it while its configuration stays as it is, and forgets what was not
// used for long. It implements location.Scopes and v2.Locations.
type locations struct {
	dirs     config.Directories
	getenv   func(string) string
	projects *project.Finder
	models   *models.Pool
	outputs  *tool.Outputs
	files    *file.Tracker
	trust    *trust.Judge
	remotes  *remotes
	pages    *instruction.Pages // nil: nothing is fetched
	logger   *slog.Logger
	// sandboxed: commands run in a sandbox until this process ends, whatever the configuration comes to say.
	sandboxed bool

	mu     sync.Mutex // guards places
	places map[string]*slot
}

// slot is where a location is kept.
type slot struct {
	mu    sync.Mutex // guards the rest; held while the place is built
	place *place     // nil before the first build
	found time.Time  // when git was asked for the project
	used  time.Time
	held  int // turns and other work that have its scope: it is not dropped meanwhile
}

// place is one location as it was read. It never changes.
type place struct {
	config  *config.Config
	project project.Project
	agents  *agent.Set
	scope   *location.Scope
	skills  *skill.Cache
	models  *models.Set
	tools   toolConfig
}

const (
	maxPlaces = 64
	placeIdle = time.Hour
	findAgain = 5 * time.Second
)

// Scope implements location.Scopes.
func (l *locations) Scope(ctx context.Context, at session.Location) (*location.Scope, func(), error) {
	s, err := l.built(ctx, at.Directory)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	s.held++
	return s.place.scope, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held--
		s.used = time.Now()
	}), nil
}

// place returns the location of a directory, built anew when its configuration changed.
func (l *locations) place(ctx context.Context, dir string) (*place, error) {
	s, err := l.built(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.place, nil
}

// built returns the slot of a place that is as its configuration is now. Its mu is held.
func (l *locations) built(ctx context.Context, dir string) (*slot, error) {
	if dir == "" {
		return nil, session.Errorf(session.CodeInvalid, "the location names no directory").At("location.directory")
	}
	s := l.slot(dir)
	s.mu.Lock()
	s.used = time.Now()
	if p := s.place; p != nil && p.config.IsFresh() && p.models.IsFresh() && !l.remotes.due() && l.stillThere(ctx, s) {
		return s, nil
	}
	p, err := l.build(ctx, dir)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.place, s.found = p, time.Now()
	return s, nil
}

// slot returns the place's slot.
func (l *locations) slot(dir string) *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.places[dir]
	if s == nil {
		l.makeRoom()
		s = &slot{used: time.Now()}
		l.places[dir] = s
	}
	return s
}

// makeRoom drops the places that nobody used for long and, when there are too many, the one that was used longest ago. Where
// work is done now stays. mu is held.
func (l *locations) makeRoom() {
	var oldest string
	var last time.Time
	for d, s := range l.places {
		if !s.mu.TryLock() {
			continue // it is being built
		}
		used, held := s.used, s.held
		s.mu.Unlock()
		switch {
		case held > 0:
		case time.Since(used) > placeIdle:
			delete(l.places, d)
		case oldest == "" || used.Before(last):
			oldest, last = d, used
		}
	}
	if len(l.places) >= maxPlaces {
		delete(l.places, oldest)
	}
}

// stillThere reports whether the directory is what it was when the place was built. Every turn asks, so that it costs
// a stat; only a repository that has no identity yet is looked at again now and then, for its first commit.
func (l *locations) stillThere(ctx context.Context, s *slot) bool {
	was := s.place.project
	info, err := os.Stat(was.Directory)
	if err != nil || !info.IsDir() {
		return false
	}
	if was.ID != project.Global || !was.IsGit() || time.Since(s.found) < findAgain {
		return true
	}
	s.found = time.Now()
	now, err := l.projects.Find(ctx, was.Directory)
	return err == nil && now == was
}

func (l *locations) build(ctx context.Context, dir string) (*place, error) {
	pr, err := l.projects.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(ctx, config.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Project: string(pr.ID), Trust: l.trust, Dirs: l.dirs, Env: l.getenv,
		Remotes: l.remotes.list(ctx),
	})
	if err != nil {
		return nil, err
	}
	folders := l.skills(cfg, pr)
	skills := skill.NewCache(folders)
	options := agent.Options{Allowed: append([]string{l.outputs.Dir, l.scratch()}, folders.UserFolders()...), Plans: filepath.Join(l.dirs.Data, "plans")}
	agents := agent.New(cfg, options)
	models, err := l.models.Build(cfg)
	if err != nil {
		return nil, err
	}
	tools, err := l.tools(cfg, pr, models)
	if err != nil {
		return nil, err
	}
	registry, err := l.registry(cfg, tools)
	if err == nil {
		_, err = registry.Register(skill.NewTool(skills.Find))
	}
	if err != nil {
		return nil, err
	}
	sources, err := l.sources(cfg, pr)
	if err != nil {
		return nil, err
	}
	byName := map[string]session.Agent{}
	for _, a := range agents.List() {
		byName[a.ID] = a
	}
	chosen, _ := agents.Default()
	scope := &location.Scope{
		Location: session.Location{Directory: pr.Directory}, ProjectID: pr.ID, Subpath: pr.Subpath,
		Agents: byName, DefaultAgent: chosen.ID, Models: models, Tools: registry, Small: models.SmallModel, Budget: cfg.Budget.Session(),
		Layers:   func(a session.Agent) []permission.Layer { return agents.Layers(a.ID) },
		Requests: tools.requests,
		Context: func(ctx context.Context, a session.Agent) (systemcontext.Context, error) {
			all, err := sources.Load(ctx)
			if err != nil {
				return nil, err
			}
			return systemcontext.Combine(all, skill.Context(skills.Find(), agents.Layers(a.ID)))
		},
	}
	return &place{config: cfg, project: pr, agents: agents, scope: scope, skills: skills, models: models, tools: tools}, nil
}

// sources registers what agents are told of the location: where it is, what day it is, its instruction files.
func (l *locations) sources(cfg *config.Config, pr project.Project) (*systemcontext.Registry, error) {
	r := &systemcontext.Registry{}
	_, err := instruction.RegisterBuiltins(r, instruction.Environment{Directory: pr.Directory, Worktree: pr.Worktree}, time.Now)
	if err != nil {
		return nil, err
	}
	_, err = instruction.Register(r, l.instructions(cfg, pr))
	return r, err
}

// instructions says where the location's instruction files are.
func (l *locations) instructions(cfg *config.Config, pr project.Project) instruction.Options {
	return instruction.Options{
		Config: l.dirs.Config, Foreign: l.dirs.Foreign, Home: l.dirs.Home, Directory: pr.Directory, Worktree: pr.Worktree,
		DisableProject: config.IsSwitchOn(l.getenv, "DISABLE_PROJECT_CONFIG"), DisableClaude: config.DisabledForeignFiles(l.getenv).Prompts,
		Configured: cfg.Instructions, Pages: l.pages,
	}
}

// skills says where the location's are.
func (l *locations) skills(cfg *config.Config, pr project.Project) skill.Options {
	out := config.DisabledForeignFiles(l.getenv)
	return skill.Options{
		Config: l.dirs.Config, Foreign: l.dirs.Foreign, Home: l.dirs.Home, Directory: pr.Directory, Worktree: pr.Worktree,
		Paths: cfg.Skills.Paths, Trusted: cfg.Trusted,
		DisableProject: config.IsSwitchOn(l.getenv, "DISABLE_PROJECT_CONFIG"), DisableClaude: out.Claude, DisableExternal: out.External,
	}
}

// Location implements v2.Locations.
func (l *locations) Location(ctx context.Context, at session.Location) (api.LocationInfo, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return api.LocationInfo{}, err
	}
	top := p.project.Worktree
	if top == "" {
		top = "/"
	}
	info := api.LocationInfo{Directory: p.project.Directory}
	info.Project.ID, info.Project.Directory = p.project.ID, top
	return info, nil
}

// Agents implements v2.Locations.
func (l *locations) Agents(ctx context.Context, at session.Location) ([]session.Agent, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return p.agents.List(), nil
}

// Skills implements v2.Locations.
func (l *locations) Skills(ctx context.Context, at session.Location) ([]api.Skill, error) {
	p, err := l.place(ctx, at.Directory)
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
func (l *locations) Models(ctx context.Context, at session.Location) ([]api.Model, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return listModels(p.models)
}

// Providers implements v2.Locations.
func (l *locations) Providers(ctx context.Context, at session.Location) ([]api.Provider, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return listProviders(p.models)
}

// Explain implements v2.Explainer.
func (l *locations) Explain(ctx context.Context, at session.Location, key string) (jsontext.Value, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p.config.Explain(key), json.Deterministic(true))
}
