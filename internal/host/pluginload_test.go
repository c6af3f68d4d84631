package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// pluginWorld is an owner whose user has plugins, and a server that they ask.
type pluginWorld struct {
	*owner
	t    *testing.T
	home string
	at   session.Location
	gate *gate
}

// gate answers each request once it is opened.
type gate struct {
	*httptest.Server
	arrived chan struct{} // one for each request
	opened  chan struct{} // closed when answers may come
}

func (g *gate) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	g.arrived <- struct{}{}
	select {
	case <-g.opened:
	case <-r.Context().Done():
	}
}

// newPluginWorld opens an owner with plugins of the user, by name. GATE in them is the address of the gate.
func newPluginWorld(t *testing.T, plugins map[string]string) *pluginWorld {
	t.Helper()
	if _, err := exec.LookPath("bun"); err != nil {
		t.Skip("bun is not on PATH: npm install -g bun")
	}
	home, _ := newHome(t)
	p := &pluginWorld{t: t, home: home}
	p.gate = &gate{arrived: make(chan struct{}, 100), opened: make(chan struct{})} // 100: more than any test asks
	p.gate.Server = httptest.NewServer(p.gate)
	t.Cleanup(p.gate.Close)
	for name, text := range plugins {
		write(t, filepath.Join(home, "config", "plugin", name), strings.ReplaceAll(text, "GATE", p.gate.URL))
	}
	o := optionsOf(home)
	p.at = session.Location{Directory: o.Dir}
	p.owner = openOwnerOf(t, o)
	return p
}

// load returns the setup of the project with its plugins.
func (p *pluginWorld) load() *locationSetup {
	p.t.Helper()
	setup, err := p.locations.load(p.t.Context(), p.at.Directory)
	if err != nil {
		p.t.Fatal(err)
	}
	return setup
}

// configure writes the configuration of the project.
func (p *pluginWorld) configure(text string) {
	p.t.Helper()
	write(p.t, filepath.Join(p.at.Directory, "cairn.json"), text)
}

// environment returns what the plugins of a setup add to the environment of commands.
func (p *pluginWorld) environment(chain *extension.Chain) (map[string]string, error) {
	v := extension.Environment{Directory: p.at.Directory}
	_, err := chain.Begin().Environment(p.t.Context(), &v)
	return v.Variables, err
}

// TestListsDoNotWaitForPlugins: while plugins load, nothing but what needs them waits, and a caller that leaves does not
// wait either.
func TestListsDoNotWaitForPlugins(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"slow.ts": `await fetch("GATE"); export const Slow = async () => ({ "shell.env": async (i, o) => { o.env.SLOW = "yes" } })`,
	})
	loaded := make(chan *locationSetup, 2)
	wait := func() {
		setup, err := p.locations.load(t.Context(), p.at.Directory)
		if err != nil {
			t.Error(err)
		}
		loaded <- setup
	}
	go wait()
	<-p.gate.arrived
	// What does not need the plugins goes on.
	if _, err := p.locations.Location(t.Context(), p.at); err != nil {
		t.Error(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := p.locations.load(ctx, p.at.Directory); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has left gets %v", err)
	}
	// A forgotten location is read anew, by those that wait already too.
	p.locations.ForgetLocation(p.at)
	go wait()
	close(p.gate.opened)
	for range 2 {
		setup := <-loaded
		if env, err := p.environment(setup.scope.Chain); err != nil || env["SLOW"] != "yes" {
			t.Errorf("%v, %v; %v", env, err, setup.plugins.problems)
		}
	}
}

// TestEndDuringLoad: the end of the process ends the load of plugins. Those that wait for it, or come later, get an error.
func TestEndDuringLoad(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{"slow.ts": `await fetch("GATE"); export const Slow = async () => ({})`})
	failed := make(chan error)
	load := func() {
		_, err := p.locations.load(t.Context(), p.at.Directory)
		failed <- err
	}
	go load()
	<-p.gate.arrived
	p.locations.close()
	err := <-failed
	go load()
	if later := <-failed; !errors.Is(err, errEnding) || !errors.Is(later, errEnding) {
		t.Errorf("the errors are %v and %v", err, later)
	}
}

// TestRequestsDuringLoad: a plugin that is being loaded gets answers about its location, and what it stores then does not
// make it load again.
func TestRequestsDuringLoad(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{"asks.ts": `export const Asks = async ({ client, serverUrl }) => {
	const said = await (await fetch(serverUrl + "project")).text()
	return { "shell.env": async (i, o) => { o.env.SAID = said } }
}`})
	p.locations.reach.Served = "" // no session is known in the directory
	p.locations.plugins.api.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setup, err := p.locations.load(r.Context(), p.at.Directory)
		if err == nil {
			_, err = io.WriteString(w, setup.project.Directory)
		}
		if err = errors.Join(err, p.locations.models.Auth.Set(t.Context(), "acme", auth.NewSecret("key"))); err != nil {
			t.Error(err)
		}
	}), "")
	setup := p.load()
	if env, err := p.environment(setup.scope.Chain); err != nil || env["SAID"] != p.at.Directory {
		t.Errorf("%v, %v; %v", env, err, setup.plugins.problems)
	}
	if p.load() != setup {
		t.Error("the plugins were loaded again")
	}
}

// TestServersBesideMissingPlugins: the servers follow the configuration also if no plugin can be resolved.
func TestServersBesideMissingPlugins(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, nil)
	servers := func(text string) (names []string) {
		write(t, filepath.Join(p.home, "config", "cairn.json"), `{"plugin": ["no-such-plugin@1.0.0"], "mcp": {`+text+`}}`)
		setup := p.load()
		if len(setup.plugins.problems) != 1 {
			t.Errorf("problems: %v", setup.plugins.problems)
		}
		for _, s := range setup.servers.States() {
			names = append(names, s.Name)
		}
		return names
	}
	const off = `: {"type": "local", "command": ["true"], "enabled": false}`
	if names := servers(`"one"` + off); strings.Join(names, " ") != "one" {
		t.Errorf("the servers are %v", names)
	}
	if names := servers(`"one"` + off + `, "other"` + off); strings.Join(names, " ") != "one other" {
		t.Errorf("the servers after a change are %v", names)
	}
}

// TestLanguageServersOfPlugins: a change of the configuration that is not about language servers leaves those of plugins
// alone.
func TestLanguageServersOfPlugins(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"lsp.ts": `export const Lsp = async () => ({ config: async (c) => { c.lsp = { x: { command: ["true"], extensions: [".x"] } } } })`,
	})
	before := p.load()
	if before.config.LSP == nil || len(before.plugins.problems) > 0 {
		t.Fatalf("the plugin configures no language server: %v", before.plugins.problems)
	}
	p.configure(`{"username": "somebody"}`)
	if _, err := p.locations.Location(t.Context(), p.at); err != nil {
		t.Fatal(err)
	}
	if after := p.load(); after == before || after.languages != before.languages {
		t.Error("the language servers were ended")
	}
}

// TestModelsOfPluginsAgain: what a plugin failed to say about models is asked for again.
func TestModelsOfPluginsAgain(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"models.ts": `let n = 0
export const Models = async () => ({ provider: { id: "acme", models: async () => {
	if (n++ === 0) throw new Error("no network")
	return { one: { name: "One" } }
} } })`,
	})
	setup := p.load()
	if why := setup.plugins.problems["models of acme"]; why == nil {
		t.Fatalf("problems: %v", setup.plugins.problems)
	}
	if p.load() != setup {
		t.Error("it is asked for again at once")
	}
	setup.plugins.loadedAt = time.Now().Add(-2 * reloadPause)
	if again := p.load(); len(again.plugins.problems) > 0 {
		t.Errorf("later: %v", again.plugins.problems)
	}
}

// TestPackagesDuringLoad: packages that are installed while plugins load are seen by the next use.
func TestPackagesDuringLoad(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{"slow.ts": `await fetch("GATE"); export const Slow = async () => ({})`})
	loaded := make(chan *locationSetup)
	go func() {
		setup, err := p.locations.load(t.Context(), p.at.Directory)
		if err != nil {
			t.Error(err)
		}
		loaded <- setup
	}()
	<-p.gate.arrived
	write(t, filepath.Join(p.locations.plugins.store.Dir, "lock.json"), `{}`)
	close(p.gate.opened)
	if setup := <-loaded; p.locations.arePluginsFresh(setup) {
		t.Error("the setup counts as one with the new packages")
	}
}

// TestRightsOfPlugins: the rights of plugins are those of the current configuration of the user.
func TestRightsOfPlugins(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"own.ts": `export const Own = async () => ({ "permission.ask": async (i, o) => { o.status = "allow" } })`,
	})
	for _, c := range []struct {
		extensions string
		mayAllow   bool
		problem    string
	}{
		{`{"allow": ["plugin/own"]}`, true, ""},
		{`{"allow": []}`, false, ""},
		{`{"scope": "everything"}`, false, `scope "everything" is unknown`},
	} {
		write(t, filepath.Join(p.home, "config", "cairn.json"), `{"extensions": `+c.extensions+`}`)
		setup := p.load()
		if e := setup.plugins.set.Extensions(setup.plugins.State); len(e) != 1 || e[0].MayAllow != c.mayAllow {
			t.Errorf("%s: the plugin may allow: %v", c.extensions, !c.mayAllow)
		}
		why := setup.plugins.problems["extensions.scope"]
		if (why != nil) != (c.problem != "") || why != nil && !strings.Contains(why.Error(), c.problem) {
			t.Errorf("%s: the problem is %v", c.extensions, why)
		}
	}
}

// TestPluginsOfScopes: the plugins with which work began stay until it ends, however long it calls none of them.
func TestPluginsOfScopes(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"name.ts": `export const Name = async () => {
	let name = ""
	return { config: async (c) => { name = c.model }, "shell.env": async (i, o) => { o.env.NAME = name } }
}`,
	})
	p.configure(`{"model": "mock/first"}`)
	set := p.load().plugins.set
	scope, release, err := p.locations.Scope(t.Context(), p.at)
	if err != nil {
		t.Fatal(err)
	}
	p.configure(`{"model": "mock/second"}`)
	if env, err := p.environment(p.load().scope.Chain); err != nil || env["NAME"] != "mock/second" {
		t.Fatalf("after the change: %v, %v", env, err)
	}
	if env, err := p.environment(scope.Chain); err != nil || env["NAME"] != "mock/first" {
		t.Errorf("the work that began before gets %v, %v", env, err)
	}
	release()
	if _, ok := set.Use(); ok {
		t.Error("the plugins run on after the work")
	}
}

// TestPluginsWhileConfigurationChanges: work that overlaps changes of the configuration always has plugins that run.
func TestPluginsWhileConfigurationChanges(t *testing.T) {
	t.Parallel()
	p := newPluginWorld(t, map[string]string{
		"name.ts": `export const Name = async () => {
	let name = ""
	return { config: async (c) => { name = c.model }, "shell.env": async (i, o) => { o.env.NAME = name } }
}`,
	})
	p.configure(`{"model": "mock/first"}`)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for {
				scope, release, err := p.locations.Scope(t.Context(), p.at)
				if err != nil {
					t.Error(err)
					return
				}
				if env, err := p.environment(scope.Chain); err != nil || env["NAME"] == "" {
					t.Errorf("%v, %v", env, err)
				}
				release()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 8 {
		name := "mock/" + strings.Repeat("m", 1+i) // of another length each time: some clocks are coarse
		p.configure(`{"model": "` + name + `"}`)
		p.locations.ForgetLocation(p.at)
		if env, err := p.environment(p.load().scope.Chain); err != nil || env["NAME"] != name {
			t.Errorf("after the change to %s: %v, %v", name, env, err)
		}
	}
	close(stop)
	work.Wait()
}
