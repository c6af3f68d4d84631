package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// plugins are the plugins of all locations.
type plugins struct {
	pool  *plugin.Pool
	store *plugin.Store
	api   pluginAPI
	ids   *session.IDs

	mu     sync.Mutex              // guards rights
	rights map[string]pluginRights // of the plugins of a directory
}

// pluginRights are what the plugins of a directory may do with the API.
type pluginRights struct {
	role   caller.Role
	logins map[string]plugin.Auth // by provider: they may store the tokens that they renew
}

// rightsAt returns the rights of the plugins of a directory; none for other directories.
func (p *plugins) rightsAt(directory string) pluginRights {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rights[directory]
}

// grant sets the rights of the plugins of a directory.
func (p *plugins) grant(directory string, rights pluginRights) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rights[directory] = rights
}

// logsInAt reports whether a plugin of any directory logs in at the provider.
func (p *plugins) logsInAt(provider string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rights := range p.rights {
		if _, ok := rights.logins[provider]; ok {
			return true
		}
	}
	return false
}

// endLocation ends the plugins of a directory that is configured without any, when nothing uses them any more.
func (p *plugins) endLocation(directory string) {
	p.pool.Open(plugin.Location{Directory: directory})
	p.revoke(directory)
}

// closeLocation ends the plugins of a directory in the background. The returned function waits for their end.
func (p *plugins) closeLocation(directory string) (wait func()) {
	p.revoke(directory)
	return p.pool.CloseLocation(directory)
}

func (p *plugins) revoke(directory string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rights, directory)
}

func (w *owner) newPlugins(ids *session.IDs) *plugins {
	p := &plugins{store: plugin.NewStore(w.dirs.Data), ids: ids, rights: map[string]pluginRights{}}
	p.api.rightsAt = p.rightsAt
	p.pool = plugin.NewPool(plugin.Options{
		Supervisor: process.SupervisorCommand(), Logger: w.logger, Scripts: p.store.Dir,
		Shared: p.store.Shared(), ServerURL: p.api.address, API: &p.api,
	})
	return p
}

// pluginAPI answers the requests of plugins as the server does, with the rights of an extension.
type pluginAPI struct {
	handler  atomic.Pointer[http.Handler] // nil until the server is ready
	url      atomic.Pointer[string]
	rightsAt func(directory string) pluginRights
}

// serve gives plugins the operations of the server, which listens at the URL, "" without TCP.
func (a *pluginAPI) serve(h http.Handler, url string) {
	a.handler.Store(&h)
	a.url.Store(&url)
}

// address is that of the server as plugins know it.
func (a *pluginAPI) address() string {
	if url := a.url.Load(); url != nil && *url != "" {
		return *url
	}
	return "http://cairn.localhost"
}

// RoundTrip implements http.RoundTripper.
func (a *pluginAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	h := a.handler.Load()
	if h == nil {
		return nil, errors.New("the server is not ready")
	}
	rights := a.rightsAt(plugin.DirectoryOf(r.Context()))
	role := rights.role
	if r.Method == http.MethodDelete && role < caller.Approve { // what is deleted is gone, whose it ever was
		role = caller.Read
	}
	if id, ok := strings.CutPrefix(r.URL.Path, "/auth/"); ok && r.Method == http.MethodPut {
		if _, ok := rights.logins[id]; ok {
			role = caller.Admin
		}
	}
	return api.Local(*h).RoundTrip(r.WithContext(caller.NewContext(r.Context(), caller.Caller{
		Kind: caller.KindExtension, Role: role,
	})))
}

// addPlugins loads the plugins of a setup that was built without them, and returns the setup with them: that of the
// configuration that they make of its own. What could not be loaded is among its problems.
func (l *locationCache) addPlugins(ctx context.Context, p *locationSetup) (*locationSetup, error) {
	cfg, state, err := l.loadPlugins(ctx, p)
	if err != nil {
		return nil, err
	}
	whole, err := l.newSetup(cfg, p.project, state)
	if err != nil {
		return nil, err
	}
	whole.earlier = p.earlier
	l.logWarnings(whole)
	return whole, nil
}

// loadPlugins loads the plugins of a setup, and returns the configuration that they make of its own.
func (l *locationCache) loadPlugins(ctx context.Context, p *locationSetup) (*config.Config, pluginState, error) {
	listed, extensions := p.config.ListPlugins(), p.config.Extensions
	stamp := l.plugins.store.Stamp() // before Resolve: packages may be installed while the plugins load
	specs, problems := l.plugins.store.Resolve(listed)
	role, err := caller.ParseRole(cmp.Or(extensions.Scope, caller.Prompt.String()))
	if err != nil {
		problems["extensions.scope"] = err // the requests of plugins have no rights
	}
	l.plugins.grant(p.project.Directory, pluginRights{role, l.plugins.rightsAt(p.project.Directory).logins})
	shown := opencode.ConfigOf(p.config.ListMembers(), p.config.Rules(), true)
	forms := l.plugins.newForms(p.models, p.project.Directory)
	set := l.plugins.pool.Open(plugin.Location{
		Directory: p.project.Directory, Worktree: cmp.Or(p.project.Worktree, "/"), Project: projectForm(p.project),
		Config: encodeForm(shown), Plugins: specs, Environment: process.Environment{Deny: p.models.SecretVariables()},
		Forms:      forms,
		Credential: func(provider string) (jsontext.Value, error) { return credentialForm(l.models.Auth, provider) },
		MayAllow: func(id string) bool {
			return slices.ContainsFunc(listed, func(one config.Plugin) bool {
				return one.ID == id && one.MayAllow(extensions.Allow)
			})
		},
	})
	state, made := set.Await(ctx)
	if ctx.Err() != nil { // the state of an ended load is not used
		return nil, pluginState{}, context.Cause(ctx)
	}
	out := pluginState{
		State: state, isLoaded: true, set: set, problems: problems, listed: listed, stamp: stamp,
	}
	out.collect()
	l.plugins.grant(p.project.Directory, pluginRights{role, out.Logins()})
	// Read the configuration again with what they made of it.
	changed := map[string]jsontext.Value{}
	var sent map[string]jsontext.Value
	if json.Unmarshal(made, &sent) == nil {
		changed = opencode.ConfigChanges(shown, sent)
		keepChangedRules(shown, changed)
	}
	loading, cancel := context.WithTimeout(ctx, plugin.LoadTime)
	defer cancel()
	if providers := out.loadAuth(loading, l.models.Auth, forms); len(providers) > 0 {
		changed["provider"] = mergeForms(changed["provider"], encodeForm(providers))
	}
	out.loadedAt = time.Now()
	changes := &config.PluginChanges{Loaded: out.isWhole(), MayAllow: out.mayAllow(extensions.Allow)}
	if !changes.Loaded {
		out.problems["permissions"] = errors.New("not all plugins of the project run, so its permission rules allow nothing")
	}
	if len(changed) > 0 {
		changes.Text = encodeForm(changed)
	}
	cfg, err := l.loadConfig(ctx, p.project, changes)
	if _, isPlugins := errors.AsType[*document.Error](err); isPlugins && changes.Text != nil {
		out.problems["config"] = err
		changes.Text = nil
		cfg, err = l.loadConfig(ctx, p.project, changes)
	}
	return cfg, out, err
}

// keepChangedRules removes the rules that plugins have left as they were.
func keepChangedRules(shown, changed map[string]jsontext.Value) {
	var before, after map[string]jsontext.Value
	if json.Unmarshal(shown["permission"], &before) != nil || json.Unmarshal(changed["permission"], &after) != nil {
		return
	}
	maps.DeleteFunc(after, func(action string, rules jsontext.Value) bool {
		was, ok := before[action]
		return ok && plugin.IsEqual(was, rules)
	})
	if changed["permission"] = encodeForm(after); len(after) == 0 {
		delete(changed, "permission")
	}
}

// mergeForms merges an object over another one, by member.
func mergeForms(low, high jsontext.Value) jsontext.Value {
	var before, after map[string]jsontext.Value
	if json.Unmarshal(low, &before) != nil || json.Unmarshal(high, &after) != nil {
		return high
	}
	for name, value := range after {
		before[name] = mergeForms(before[name], value)
	}
	return encodeForm(before)
}

// newForms returns what converts values for the plugins of a directory.
func (p *plugins) newForms(set *models.Set, directory string) *pluginForms {
	return &pluginForms{models: set, ids: p.ids, directory: directory}
}

// projectForm returns a project as plugins get it.
func projectForm(p project.Project) jsontext.Value {
	v := opencode.Project{ID: p.ID, Worktree: cmp.Or(p.Worktree, "/"), Sandboxes: []string{}}
	if p.IsGit() {
		v.VCS = "git"
	}
	return encodeForm(v)
}

// pluginState is the plugins of a setup and what became of them.
type pluginState struct {
	plugin.State
	isLoaded bool        // of a location without plugins too
	set      *plugin.Set // nil before the load, and if no plugin can be loaded
	listed   []config.Plugin
	problems map[string]error // why a plugin, or a part of it, is not there, by its id
	stamp    string           // of the store
	loadedAt time.Time
	// isIncomplete: a problem may be gone when the plugins are asked again.
	isIncomplete bool
	// transports are those of providers whose requests plugins send, by id.
	transports map[string]http.RoundTripper
}

// collect adds the failures of plugins to the problems.
func (s *pluginState) collect() {
	if s.Error != "" {
		s.problems["plugins"], s.isIncomplete = errors.New(s.Error), true
	}
	for _, o := range s.Plugins {
		if o.Error != "" {
			s.problems[o.ID] = errors.New(o.Error)
		}
	}
}

// isWhole reports whether all plugins of the project are there, so that what they guard is guarded.
func (s *pluginState) isWhole() bool {
	return s.Error == "" && !slices.ContainsFunc(s.listed, func(one config.Plugin) bool {
		return one.Project && s.problems[one.ID] != nil
	})
}

// mayAllow reports whether each plugin may allow what a person would be asked: they share what they make of the
// configuration.
func (s *pluginState) mayAllow(allow []string) bool {
	return !slices.ContainsFunc(s.listed, func(one config.Plugin) bool { return !one.MayAllow(allow) })
}

// Plugins implements v2.Locations.
func (l *locationCache) Plugins(ctx context.Context, at session.Location) ([]api.Plugin, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	// Those that are configured, with what the loaded ones offer.
	out := []api.Plugin{}
	problems := maps.Clone(p.plugins.problems)
	for _, one := range p.plugins.listed {
		v := describePlugin(one.ID, problems[one.ID])
		v.Source = api.PluginSource{Type: "local", Path: one.File}
		if one.File == "" {
			v.Source = api.PluginSource{Type: "package", Target: one.Name}
		}
		delete(problems, one.ID)
		for _, o := range p.plugins.State.Plugins {
			if o.ID == one.ID {
				v.Hooks, v.Tools = o.Hooks, o.ToolNames()
				for _, a := range o.Auths {
					v.Logins = append(v.Logins, a.Provider)
				}
			}
		}
		out = append(out, v)
	}
	// What concerns all of them.
	for _, id := range slices.Sorted(maps.Keys(problems)) {
		v := describePlugin(id, problems[id])
		v.Source = api.PluginSource{Type: "builtin"}
		out = append(out, v)
	}
	return out, nil
}

// describePlugin returns a plugin with its problem; nil if it runs.
func describePlugin(id string, problem error) api.Plugin {
	v := api.Plugin{ID: id, Features: map[string]bool{"server": true}, State: api.PluginState{Status: "active"}}
	if problem != nil {
		v.State = api.PluginState{Status: "failed", Error: problem.Error()}
	}
	return v
}

// newPluginNote returns what tells those who follow a session of the plugins that are not there.
func (l *locationCache) newPluginNote(p *locationSetup) extension.Extension {
	return extension.Extension{ID: "plugins", Event: func(_ context.Context, v *extension.Event) error {
		if v.Type != extension.EventSessionStarted || v.ParentID != "" {
			return nil
		}
		for _, id := range slices.Sorted(maps.Keys(p.plugins.problems)) {
			l.showNote(v.SessionID, id, p.plugins.problems[id].Error())
		}
		return nil
	}}
}

// guardedActions are actions whose default rules a tool of a plugin with that name does not change: they are about more
// than the calls of one tool, such as paths outside of the location and secrets, or deny.
var guardedActions = []string{
	permission.Outside, permission.LocalFetch, ask.ActionLoop, "read", "question", "plan_enter", "plan_exit",
}

// toolNames returns the names of the tools, which are the actions of their permissions. Names that no tool can have are
// left out, since they may be patterns, and guardedActions.
func (s *pluginState) toolNames() (out []string) {
	for _, o := range s.Plugins {
		out = append(out, o.ToolNames()...)
	}
	return slices.DeleteFunc(out, func(name string) bool {
		return !tool.IsName(name) || slices.Contains(guardedActions, name)
	})
}

// reloadPause is how long plugins that could not be loaded, or did not say all, are left alone.
const reloadPause = 30 * time.Second

// arePluginsFresh reports whether the plugins of a setup need not be loaded again: its packages are those that are
// installed, and the plugins have said all.
func (l *locationCache) arePluginsFresh(p *locationSetup) bool {
	return p.plugins.stamp == l.plugins.store.Stamp() &&
		(!p.plugins.isIncomplete || time.Since(p.plugins.loadedAt) < reloadPause)
}
