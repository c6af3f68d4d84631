package v2_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/test/sessionfiles"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// work is the directory of the test's sessions.
const work = "/work"

// world is a real engine on a store in memory, a model that follows a script, and the API over both.
type world struct {
	store   *storetest.Memory
	log     *eventlog.Log
	engine  *engine.Engine
	player  *script.Player
	api     *v2.API
	handler http.Handler
	client  *api.Client
	tools   *tool.Registry
}

func newWorld(t testing.TB, s script.Script) *world {
	t.Helper()
	w := &world{store: storetest.NewMemory(), player: script.New(s), tools: tool.NewRegistry(tool.Config{})}
	w.player.Gates = map[string]chan struct{}{"g1": make(chan struct{}), "g2": make(chan struct{})}
	if _, err := w.tools.Register(echo{"write"}, echo{"edit"}); err != nil {
		t.Fatal(err)
	}
	ids := &session.IDs{}
	w.log = eventlog.New(eventlog.Config{Store: w.store, IDs: ids})
	w.engine = engine.New(engine.Config{
		Store: w.store, Log: w.log, IDs: ids, Locations: scopes{w}, Version: "test", Files: sessionfiles.New(t.TempDir()),
	})
	w.api = v2.New(v2.Config{
		Commands: w.engine.Commands, Inbox: w.engine.Commands, Reverts: w.engine.Commands,
		Asks: w.engine.Asks, Runs: w.engine, Jobs: w.engine.Jobs, Archive: w.engine.Archive, Store: w.store, Log: w.log,
		IDs: ids, Locations: places{}, Projects: noProjects{}, Worktrees: noWorktrees{}, Explainer: places{}, Doctor: places{},
		Searcher: searcher{t, w.store, t.TempDir()}, Storage: noStorage{}, Shares: noShares{w.store}, Editors: noEditors{},
		Directory: work, Health: api.Health{Version: "test"},
	})
	err := w.store.Update(context.Background(), store.Durable, func(tx store.Tx) error {
		return tx.PutProject(store.Project{ID: "prj_work", ProjectID: "global", Path: "/work", Created: 1, Updated: 1})
	})
	if err != nil {
		panic(err)
	}
	w.handler = w.api.NewHandler()
	w.client = &api.Client{HTTP: &http.Client{Transport: api.Local(w.handler)}}
	return w
}

// close ends the world in good order.
func (w *world) close(t testing.TB) {
	t.Helper()
	w.api.Close()
	if err := w.engine.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// request sends a request without the client and returns the decoded answer. A status other than 2xx fails the test.
func request[T any](t testing.TB, w *world, method, path, body string) (answer T) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	if rec.Code/100 != 2 {
		t.Fatalf("%s %s: HTTP %d %s", method, path, rec.Code, rec.Body)
	}
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return answer
}

// noProjects has no records to change.
type noProjects struct{ v2.Projects }

func (noProjects) FollowRenamed(context.Context) {}

// scopes provides the scopes of turns.
type scopes struct{ *world }

// Chain implements scope.Scopes.
func (scopes) Chain(context.Context, session.Location) *extension.Chain { return nil }

func (scopes) FindMoved(context.Context, *session.Session, *scope.Scope) (string, error) {
	return "", nil
}

func (s scopes) Scope(_ context.Context, l session.Location) (*scope.Scope, func(), error) {
	return &scope.Scope{
		Location: l, ProjectID: "global", RecordID: recordOf(l), Agents: agents(), DefaultAgent: "build", Models: s, Tools: s.tools,
		Layers:  rules,
		Context: func(context.Context, scope.ContextInput) (systemcontext.Context, error) { return nil, nil },
	}, func() {}, nil
}

func rules(a session.Agent) []permission.Layer {
	return []permission.Layer{{Name: "defaults", Rules: []session.Rule{
		{Action: "*", Resource: "*", Effect: session.Allow},
		{Action: "edit", Resource: "*", Effect: session.Ask},
		{Action: "asked", Resource: "*", Effect: session.Ask},
	}}, {Name: "agent", Source: a.ID, Rules: a.Permissions}}
}

func agents() map[string]session.Agent {
	return map[string]session.Agent{
		"build": {ID: "build", Mode: session.ModePrimary, System: "You build.", Description: "builds"},
		"plan":  {ID: "plan", Mode: session.ModePrimary, System: "You plan.", Color: "#aabbcc"},
	}
}

// Resolve implements scope.Models.
func (s scopes) Resolve(ref session.ModelRef, _ session.Agent) (*scope.Model, error) {
	if ref.ProviderID != "mock" || (ref.ID != "main" && ref.ID != "other") {
		return nil, session.NotFound("model", ref.String(), "mock/main", "mock/other")
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
	if strings.Contains(l.Directory, "missing") {
		return api.LocationInfo{}, session.NotFound("directory", l.Directory)
	}
	return api.LocationInfo{
		Directory: l.Directory,
		Project:   api.Project{ID: "global", Directory: path.Dir(l.Directory)},
		RecordID:  recordOf(l),
	}, nil
}

// recordOf returns the record of a directory. That of /work is in the store.
func recordOf(l session.Location) session.RecordID {
	return session.RecordID("prj_" + strings.ReplaceAll(strings.Trim(l.Directory, "/"), "/", "_"))
}

func (places) Agents(context.Context, session.Location) ([]session.Agent, error) {
	return []session.Agent{agents()["build"], agents()["plan"]}, nil
}

func (places) Commands(context.Context, session.Location) ([]api.Command, error) {
	return []api.Command{
		{
			Name:     "ship",
			Template: "Ship $1.",
			Agent:    "plan",
			Subtask:  new(false),
			Source:   "command",
			Hints:    []string{"$1"},
		},
	}, nil
}

func (places) Expand(
	_ context.Context, _ session.Location, r api.ExpandRequest, _ templates.Permit,
) (api.Expansion, error) {
	if r.Command != "ship" {
		return api.Expansion{}, session.NotFound("command", r.Command, "ship").At("command")
	}
	return api.Expansion{Prompt: session.Prompt{Text: "Ship " + r.Arguments + ".", Agent: "plan"}}, nil
}

func (places) Plugins(context.Context, session.Location) ([]api.Plugin, error) {
	return []api.Plugin{
		{
			ID: "plugin/guard", Source: api.PluginSource{Type: "package", Target: "guard@1.0.0"},
			Features: map[string]bool{"server": true}, State: api.PluginState{Status: "active"},
			Hooks: []string{"tool.execute.before"},
		},
		{
			ID: "tool/count", Source: api.PluginSource{Type: "local", Path: "/home/u/.cairn/tool/count.ts"},
			Features: map[string]bool{"server": true}, State: api.PluginState{Status: "failed", Error: "it does not exist"},
		},
	}, nil
}

func (places) Skills(context.Context, session.Location) ([]api.Skill, error) {
	return []api.Skill{
		{
			Name:        "deploy",
			Description: "How to deploy.",
			Location:    "/home/u/.cairn/skills/deploy/SKILL.md",
			Content:     "Do it.",
		},
		{Location: "/home/u/.cairn/skills/bad/SKILL.md", Problem: "cannot be read"},
	}, nil
}

func (places) Models(context.Context, session.Location) ([]api.Model, error) {
	return []api.Model{{
		ID: "main", ProviderID: "mock", Name: "Main", API: api.ModelAPI{ID: "main", Type: "native"},
		Capabilities: api.ModelCapabilities{Tools: true, Input: []string{"text"}, Output: []string{"text"}},
		Cost:         []api.ModelCost{{Input: session.Dollar, Output: 2 * session.Dollar}},
		Status:       "active", Enabled: true, Limit: api.ModelLimit{Context: 100000, Output: 8000},
	}}, nil
}

func (places) Providers(context.Context, session.Location) ([]api.Provider, error) {
	return []api.Provider{{ID: "mock", Name: "Mock", API: api.ModelAPI{Type: "native"}}}, nil
}

func (places) ExplainInstruction(_ context.Context, _ session.Location, file string) (api.InstructionVerdict, error) {
	return api.InstructionVerdict{Path: file, Files: []string{}}, nil
}

func (places) Explain(_ context.Context, _ session.Location, key string) (jsontext.Value, error) {
	b, err := json.Marshal(map[string]string{"key": key})
	return b, err
}

func (places) Examine(context.Context) (jsontext.Value, error) {
	return jsontext.Value(`{"ok":true}`), nil
}

// echo is a tool that asks for its action and returns its input.
type echo struct{ name string }

func (e echo) Definition() tool.Definition {
	return tool.Definition{Name: e.name, Description: e.name, Schema: jsontext.Value(`{"type":"object"}`)}
}

func (e echo) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	if err := c.Ask(ctx, tool.Request{Action: e.name, Resources: []string{"a.txt"}, Save: []string{"*"}}); err != nil {
		return tool.Output{}, err
	}
	return tool.Output{
		Title:      e.name,
		Content:    session.TextContent("done"),
		Structured: jsontext.Value(`{"target":"a.txt"}`),
	}, nil
}

// says is a script of plain answers.
func says(texts ...string) script.Script {
	var s script.Script
	for _, t := range texts {
		s.Turns = append(
			s.Turns,
			script.Turn{Steps: []script.Step{{Text: script.Chunks{t}}}, Usage: script.Usage{Input: 100, Output: 10}},
		)
	}
	return s
}

// searcher searches an index that it makes for each search.
type searcher struct {
	t     testing.TB
	store store.Viewer
	dir   string
}

func (s searcher) Search(ctx context.Context, q searchindex.Query) (*searchindex.Page, bool, error) {
	x := &searchindex.Index{Store: s.store, StoreID: "s", Dir: s.dir, Logger: slog.New(slog.DiscardHandler)}
	defer x.Close()
	if err := x.Rebuild(ctx, "", func(string) error { return nil }); err != nil {
		s.t.Error(err)
	}
	page, err := x.Search(ctx, q)
	return page, true, err
}

// noStorage has nothing to delete and nothing free.
type noStorage struct{}

func (noStorage) Prune(_ context.Context, r api.PruneRequest) (api.PruneResult, error) {
	return api.PruneResult{Sessions: []api.PrunedSession{}, DryRun: r.DryRun, Kept: 1}, nil
}

func (noStorage) Vacuum(context.Context, api.VacuumRequest) (api.VacuumResult, error) {
	return api.VacuumResult{Before: 2048, After: 2048}, nil
}

// noShares shares each session at the same address, and none afterwards.
type noShares struct{ store store.Store }

func (n noShares) Share(ctx context.Context, id session.ID, _ api.ShareRequest) (api.Share, error) {
	_, err := store.ReadSession(ctx, n.store, id)
	return api.Share{ID: "0", SessionID: id, URL: "http://127.0.0.1:4097/s/0", State: api.ShareActive, Created: 1}, err
}

func (n noShares) Revoke(ctx context.Context, id session.ID) (api.Revocation, error) {
	_, err := store.ReadSession(ctx, n.store, id)
	return api.Revocation{Revoked: true}, err
}

func (n noShares) Preview(ctx context.Context, id session.ID) (api.SharePreview, error) {
	_, err := store.ReadSession(ctx, n.store, id)
	return api.SharePreview{Replacements: []api.Replacement{}}, err
}

func (noShares) Page(_ context.Context, id string) (func(context.Context, io.Writer, func() error) error, error) {
	return nil, session.NotFound("share", id)
}

func (noShares) List() ([]api.Share, error) { return []api.Share{}, nil }

func (noShares) Find(_ context.Context, id string) (api.Share, error) {
	return api.Share{}, session.NotFound("share", id)
}

// noEditors has no reads for editors. One with a name waits.
type noEditors struct{}

func (noEditors) Next(ctx context.Context, _ session.ID, name string) (api.EditorRead, error) {
	if name == "" {
		return api.EditorRead{}, nil
	}
	<-ctx.Done()
	return api.EditorRead{}, context.Cause(ctx)
}

func (noEditors) Answer(_ session.ID, read string, _ api.EditorText) error {
	return session.NotFound("read", read)
}

// noWorktrees is a repository without linked worktrees.
type noWorktrees struct{}

func (noWorktrees) ListWorktrees(context.Context, session.Location, session.ProjectID) ([]api.Worktree, error) {
	return []api.Worktree{}, nil
}

func (noWorktrees) CreateWorktree(
	context.Context, session.Location, api.NewWorktree, func(api.Worktree, error),
) (api.Worktree, error) {
	return api.Worktree{Directory: "/trees/one", Name: "one"}, nil
}

func (noWorktrees) RemoveWorktree(_ context.Context, _ session.Location, n api.WorktreeName) (api.SavedWork, error) {
	return api.SavedWork{}, session.NotFound("worktree", n.Directory)
}

func (noWorktrees) PrepareWorktree(_ context.Context, _ session.Location, n api.WorktreeName) (api.Worktree, error) {
	return api.Worktree{}, session.NotFound("worktree", n.Directory)
}

func (noWorktrees) ResetWorktree(_ context.Context, _ session.Location, n api.WorktreeName) (api.SavedWork, error) {
	return api.SavedWork{}, session.NotFound("worktree", n.Directory)
}
