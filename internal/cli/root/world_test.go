package root

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/llm"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/go-json-experiment/json/jsontext"
)

// world is a Host on a store in memory: a real engine, the real API over it, and a model that follows a script. Its
// connections can be cut.
type world struct {
	engine *engine.Engine
	api    *v2.API
	player *script.Player
	store  *storetest.Memory
	tools  *tool.Registry
	config config.Config
	known  *client.KnownModel // what is known of mock/main; nil is nothing

	mu    sync.Mutex      // guards what an Open sees: engine, api, gone, cut and opens
	gone  context.Context // ends when the newest connection breaks
	cut   context.CancelCauseFunc
	opens int
}

func newWorld(t *testing.T, source string) *world {
	t.Helper()
	s, err := script.Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{player: script.New(s)}
	w.player.Gates = map[string]chan struct{}{"g": make(chan struct{})}
	tools := tool.NewRegistry(tool.Config{})
	if _, err := tools.Register(asking{"edit"}, asking{"read"}); err != nil {
		t.Fatal(err)
	}
	w.store, w.tools = storetest.NewMemory(), tools
	err = w.store.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		return tx.PutProject(store.Project{ID: "prj_test", ProjectID: "global", Path: "/"})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.own()
	t.Cleanup(func() { w.leave(t) })
	return w
}

// own begins to own the store, without picking up what an earlier owner left.
func (w *world) own() {
	ids := &session.IDs{}
	log := eventlog.New(eventlog.Config{Store: w.store, IDs: ids})
	w.engine = engine.New(
		engine.Config{Store: w.store, Log: log, IDs: ids, Locations: scopes{w, w.tools}, Version: "test"},
	)
	w.api = v2.New(
		v2.Config{
			Commands:  w.engine.Commands,
			Inbox:     w.engine.Commands,
			Reverts:   w.engine.Commands,
			Asks:      w.engine.Asks,
			Runs:      w.engine,
			Jobs:      w.engine.Jobs,
			Store:     w.store,
			Log:       log,
			IDs:       ids,
			Locations: places{},
			Directory: "/work",
		},
	)
}

func (w *world) leave(t *testing.T) {
	if err := w.engine.Close(context.Background()); err != nil {
		t.Error(err)
	}
	w.api.Close()
}

// replace makes another owner of the store, which does not pick up what this one left.
func (w *world) replace(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(t)
	w.own()
	w.cut(errors.New("the owner has gone"))
}

// Open connects. The connection lasts until lose is called.
func (w *world) Open(_ context.Context, o client.Options) (*client.Connection, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opens++
	ctx, cancel := context.WithCancelCause(context.Background())
	w.gone, w.cut = ctx, cancel
	transport := breakable{ctx, api.Local(w.api.NewHandler())}
	c := &api.Client{HTTP: &http.Client{Transport: transport}, Base: "http://cairn.local", Directory: o.Dir}
	return &client.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
}

// lose breaks the newest connection and returns 1, or 0 if it is broken already.
func (w *world) lose() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone.Err() != nil {
		return 0
	}
	w.cut(errors.New("the owner died"))
	return 1
}

// breakable fails all exchanges, those under way too, once its connection is cut.
type breakable struct {
	gone context.Context
	next http.RoundTripper
}

func (b breakable) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.gone.Err() != nil {
		return nil, context.Cause(b.gone)
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(b.gone, cancel)
	resp, err := b.next.RoundTrip(r.WithContext(ctx))
	if b.gone.Err() != nil {
		err = context.Cause(b.gone)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &brokenBody{resp.Body, b.gone, func() { stop(); cancel() }}
	return resp, nil
}

type brokenBody struct {
	io.ReadCloser
	gone context.Context
	done func()
}

func (b *brokenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.gone.Err() != nil {
		return 0, context.Cause(b.gone)
	}
	return n, err
}

func (b *brokenBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}

func (w *world) Serve(context.Context, client.ServeOptions, func(client.Listening)) error {
	return errors.New("not here")
}

func (w *world) Config(context.Context, client.Options) (*config.Config, error) {
	c := w.config
	c.Claim = &trust.Claim{}
	return &c, nil
}

func (w *world) Trust(o client.Options) (*trust.Store, error) {
	return trust.New(o.Env("CAIRN_HOME")), nil
}

func (w *world) Offers(client.Options) (*wellknown.Remotes, error) {
	return nil, errors.New("no server offers models")
}

func (w *world) Doctor(context.Context, client.Options) ([]finding.Finding, error) {
	return []finding.Finding{
		{Level: finding.OK, What: "store", Detail: "fine"},
		{Level: finding.Warning, What: "git", Fix: "install it"},
	}, nil
}

func (w *world) FindOwner(context.Context, client.Options) (client.StoreOwner, error) {
	return client.StoreOwner{}, nil
}

func (w *world) Probe(_ context.Context, _ client.Options, id string) ([]finding.Finding, error) {
	return []finding.Finding{
		{Level: finding.OK, What: "address", Detail: id},
		{Level: finding.Error, What: "key", Fix: "log in"},
	}, nil
}

func (w *world) Login(_ context.Context, _ client.Options, id string, say func(url, code string)) error {
	if id != "github-copilot" {
		return session.Errorf(session.CodeInvalid, "not with a browser")
	}
	say("https://github.com/login/device", "AB-12")
	return nil
}

func (w *world) RefreshModels(context.Context, client.Options) (bool, error) { return true, nil }

func (w *world) KnownModel(_ context.Context, _ client.Options, name string) (*client.KnownModel, error) {
	if w.known != nil && name == "mock/main" {
		return w.known, nil
	}
	return nil, session.NotFound("model", name)
}

func (w *world) KnownModels(context.Context, client.Options) ([]client.KnownModel, error) {
	return []client.KnownModel{{Model: api.Model{ID: "main", ProviderID: "mock"}, Missing: []string{"mock has no key"}}}, nil
}

func (w *world) UsableModels(context.Context, client.Options) ([]api.Model, error) {
	return []api.Model{{ID: "main", ProviderID: "mock"}}, nil
}

func (w *world) WhyUnusable(_ context.Context, _ client.Options, id string) (string, error) {
	return map[string]string{"vllm": "no server answers"}[id], nil
}

func (w *world) Fsck(context.Context, client.Options) ([]finding.Finding, error) {
	return []finding.Finding{{Level: finding.Error, What: "session ses_1", Detail: "has a gap after 3"}}, nil
}

func (w *world) RepairMirror(context.Context, client.Options) ([]finding.Finding, error) {
	return nil, nil
}

func (w *world) FindCopies(context.Context, client.Options, *session.Session) ([]string, error) {
	return nil, nil
}

func (w *world) Repair(context.Context, client.Options) ([]finding.Finding, error) { return nil, nil }

func (w *world) HoldSession(context.Context, client.Options, session.ID) (func(bool), error) {
	return func(bool) {}, nil
}

func (w *world) OwnTransport(context.Context, client.Options, string) (http.RoundTripper, error) {
	return nil, nil
}

func (w *world) PublicTransport([]netip.Prefix) http.RoundTripper { return http.DefaultTransport }

func (w *world) MeasureStorage(context.Context, client.Options) ([]client.StorageUse, error) {
	return nil, nil
}

func (w *world) Backup(context.Context, client.Options, string) error { return nil }

func (w *world) Salvage(_ context.Context, _ client.Options, home string) (*check.Salvage, error) {
	return &check.Salvage{Home: home, Events: 3, Lost: []string{}, Sessions: []check.SalvagedSession{
		{SessionID: "ses_1", Title: "one", Events: 3, Lost: []string{"from event 3 on: an event is missing"}},
	}}, nil
}

// scopes provides the scopes of turns.
type scopes struct {
	*world
	tools *tool.Registry
}

// Chain implements scope.Scopes.
func (scopes) Chain(context.Context, session.Location) *extension.Chain { return nil }

func (scopes) FindMoved(context.Context, *session.Session, *scope.Scope) (string, error) {
	return "", nil
}

func (s scopes) Scope(_ context.Context, l session.Location) (*scope.Scope, func(), error) {
	return &scope.Scope{
		Location: l, ProjectID: "global", RecordID: "prj_test", DefaultAgent: "build", Models: s, Tools: s.tools,
		Agents: map[string]session.Agent{
			"build": {ID: "build", Mode: session.ModePrimary},
			"plan":  {ID: "plan", Mode: session.ModePrimary},
		},
		Layers: func(session.Agent) []permission.Layer {
			return []permission.Layer{{Name: "defaults", Rules: []session.Rule{
				{
					Action:   "*",
					Resource: "*",
					Effect:   session.Allow,
				}, {Action: "edit", Resource: "*", Effect: session.Ask},
			}}}
		},
		Context: func(context.Context, scope.ContextInput) (systemcontext.Context, error) { return nil, nil },
	}, func() {}, nil
}

// Resolve implements scope.Models.
func (s scopes) Resolve(ref session.ModelRef, _ session.Agent) (*scope.Model, error) {
	if ref.ProviderID != "mock" || ref.ID != "main" {
		return nil, session.NotFound("model", ref.String(), "mock/main")
	}
	return &scope.Model{
		Ref: ref, Client: s.player, APIName: ref.ID,
		Cost: func(u llm.Usage) (session.USD, bool) { return session.USD(u.Input) * session.Dollar / 1_000_000, true },
	}, nil
}

// Default implements scope.Models.
func (scopes) Default() (session.ModelRef, error) {
	return session.ModelRef{ID: "main", ProviderID: "mock"}, nil
}

// places implements what the API asks of a location.
type places struct{}

func (places) Servers(context.Context, session.Location) (*mcp.Set, error) {
	return mcp.NewPool(mcp.Options{}).Open(mcp.Location{}), nil
}

func (places) ForgetLocation(session.Location) {}

func (places) Location(_ context.Context, l session.Location) (api.LocationInfo, error) {
	return api.LocationInfo{Directory: l.Directory, Project: api.Project{ID: "global", Directory: "/"}, RecordID: "prj_test"}, nil
}

func (places) Agents(context.Context, session.Location) ([]session.Agent, error) { return nil, nil }

func (places) Commands(context.Context, session.Location) ([]api.Command, error) {
	return []api.Command{
		{Name: "ship", Template: "Ship $1.", Description: "Ships it.", Source: "command", Hints: []string{"$1"}},
	}, nil
}

func (places) Expand(
	_ context.Context, _ session.Location, r api.ExpandRequest, _ templates.Permit,
) (api.Expansion, error) {
	if r.Command != "ship" {
		return api.Expansion{}, session.NotFound("command", r.Command, "ship").At("command")
	}
	return api.Expansion{Prompt: session.Prompt{Text: "Ship " + r.Arguments + "."}}, nil
}

func (places) Plugins(context.Context, session.Location) ([]api.Plugin, error) { return nil, nil }

func (places) Skills(context.Context, session.Location) ([]api.Skill, error) { return nil, nil }

func (places) Models(context.Context, session.Location) ([]api.Model, error) {
	return []api.Model{{
		ID: "main", ProviderID: "mock", Capabilities: api.ModelCapabilities{Tools: true, Input: []string{"text", "image"}},
		Cost: []api.ModelCost{
			{Input: session.Dollar / 4, Output: 2 * session.Dollar},
		}, Limit: api.ModelLimit{Context: 128000},
	}}, nil
}

func (places) Providers(context.Context, session.Location) ([]api.Provider, error) { return nil, nil }

// asking is a tool that asks for its own action.
type asking struct{ name string }

func (e asking) Definition() tool.Definition {
	return tool.Definition{Name: e.name, Description: e.name, Schema: jsontext.Value(`{"type":"object"}`)}
}

func (e asking) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	r := tool.Request{
		Action:    e.name,
		Resources: []string{"a.txt"},
		Save:      []string{"*"},
		Metadata:  jsontext.Value(`{"diff":"-foo\n+bar\n"}`),
	}
	if err := c.Ask(ctx, r); err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Title: e.name, Content: session.TextContent("done")}, nil
}

// typed is a command that was run, and what came of it.
type typed struct {
	stdout, stderr bytes.Buffer
	code           int
}

// shell runs commands against a world.
type shell struct {
	*world
	stdin    string
	open     io.Reader // in place of stdin
	terminal io.ReadWriteCloser
	signals  chan os.Signal
	dir      string
	onOut    func(string) // sees standard output and standard error grow
}

func (s *shell) run(args ...string) *typed { return s.runAs("cairn", args...) }

// runAs runs it as a program of that name.
func (s *shell) runAs(name string, args ...string) *typed {
	out := &typed{}
	p := cli.Process{
		Name: name, Args: args, Stdin: strings.NewReader(s.stdin), Stdout: &watchedWriter{&out.stdout, s.onOut},
		Stderr: &watchedWriter{&out.stderr, s.onOut}, Dir: s.dir, Signals: s.signals,
		Env: func(name string) string { return map[string]string{"LANG": "C.UTF-8", "CAIRN_HOME": s.dir}[name] },
	}
	if p.Dir == "" {
		p.Dir = "/work"
	}
	if s.open != nil {
		p.Stdin = s.open
	}
	if s.terminal != nil {
		p.Terminal = func() (io.ReadWriteCloser, error) { return s.terminal, nil }
	}
	out.code = Run(context.Background(), s.world, p)
	return out
}

type watchedWriter struct {
	b  *bytes.Buffer
	on func(string)
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.b.Write(p)
	if w.on != nil {
		w.on(w.b.String())
	}
	return n, err
}
