package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/test/sessionfiles"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// world is the environment of an engine: a store that can lose power, a scripted model, tools whose effects are
// counted, and a location that a test can change. Processes start and end in it.
type world struct {
	store  *storetest.Memory
	full   atomic.Bool                   // nothing can be written
	wrap   func(store.Store) store.Store // what the process sees of it; nil is all
	player *script.Player
	limits Limits

	mu           sync.Mutex // guards the rest
	agents       map[string]session.Agent
	models       map[string]*scope.Model
	planPath     string                         // of all sessions
	record       session.RecordID               // of directories outside of /repo; "" is prj_test
	small        *session.ModelRef              // for titles and summaries; nil: none
	summaries    bool                           // of sessions, by themselves
	budget       *session.Budget                // of new sessions
	newSandbox   session.SandboxMode            // of new sessions
	sandboxes    map[string]session.SandboxMode // of agents
	layers       []permission.Layer
	sources      []*source
	tools        *tool.Registry
	outputs      *tool.Outputs
	files        *sessionfiles.Memory
	extensions   []extension.Extension
	systemSuffix string   // of the texts of extensions for the system context
	shown        []string // what the extensions were shown, in order
	makeRoom     func() bool
	broken       error // what keeps the location from working
	gates        map[string]chan struct{}
	effects      map[string]int // by token
	movedTo      string         // where the project of all sessions is now; "": where it was
	isGone       bool           // with movedTo: no other project took its place

	compaction scope.CompactionSettings
	report     func(m session.ModelRef, size scope.RequestSize, tokens int64) // nil: usage is not taken

	*process
}

// process is one process of cairn.
type process struct {
	engine *Engine
	log    *eventlog.Log
}

// source is a context source that a test changes.
type source struct {
	key, value       string
	removable        bool
	gone, unreadable bool
}

func newWorld(t testing.TB, s script.Script) *world {
	t.Helper()
	w := &world{
		store: storetest.NewMemory(), player: script.New(s),
		agents:  map[string]session.Agent{"build": {ID: "build", Mode: session.ModePrimary, System: "You build."}},
		models:  map[string]*scope.Model{},
		gates:   map[string]chan struct{}{},
		effects: map[string]int{},
		tools:   tool.NewRegistry(tool.Config{}),
		outputs: &tool.Outputs{Dir: t.TempDir()},
		files:   sessionfiles.New(t.TempDir()),
		layers: []permission.Layer{
			{
				Name: "defaults",
				Rules: []session.Rule{
					{Action: "*", Resource: "*", Effect: session.Allow}, {Action: "edit", Resource: "*", Effect: session.Ask},
				},
			},
		},
	}
	w.player.Gates = map[string]chan struct{}{}
	for _, name := range []string{"g1", "g2", "g3"} {
		w.player.Gates[name] = make(chan struct{})
		w.gates[name] = make(chan struct{})
	}
	for _, id := range []string{"one", "two"} {
		w.models["test/"+id] = &scope.Model{
			Ref: session.ModelRef{ID: id, ProviderID: "test"}, Client: w.player, APIName: id, Cost: price,
		}
	}
	w.models["test/dear"] = &scope.Model{
		Ref: session.ModelRef{ID: "dear", ProviderID: "test"}, Client: w.player, APIName: "dear", Unpriced: true,
		Cost: func(llm.Usage) (session.USD, bool) { return 0, false },
	}
	if _, err := w.tools.Register(w.testTools()...); err != nil {
		t.Fatal("register the tools:", err)
	}
	w.start()
	return w
}

// price is one millionth of a dollar per token.
func price(u llm.Usage) (session.USD, bool) {
	return session.USD(u.Input+u.Output) * session.Dollar / 1_000_000, true
}

// start starts a process on the store.
func (w *world) start() {
	ids := &session.IDs{}
	s := storetest.NewFailing(w.store, func(int) error {
		if w.full.Load() {
			return fmt.Errorf("%w: %w", storetest.ErrBefore, store.ErrFull)
		}
		return nil
	})
	if w.wrap != nil {
		s = w.wrap(s)
	}
	log := eventlog.New(eventlog.Config{Store: s, IDs: ids})
	w.process = &process{
		log: log, engine: New(Config{
			Store: s, Log: log, IDs: ids, Locations: w, Limits: w.limits, Version: "test", Files: w.files, Outputs: outputs{w.outputs},
			MakeRoom: func() bool { return w.makeRoom != nil && w.makeRoom() },
		}),
	}
}

// outputs are the output files of a world, whose contents of files for reverts are in its Files.
type outputs struct{ *tool.Outputs }

func (outputs) RemoveContents(session.ID) {}

// kill ends the process as SIGKILL does: no later write of it reaches the store. With power loss, unsynced writes are
// lost too. It starts the next process, which has not recovered yet.
func (w *world) kill(power bool) {
	old := w.process
	next := w.store.Reopen()
	old.engine.coordinator.cancel(errors.New("killed"))
	if power {
		next.Crash()
	}
	w.store = next
	w.start()
}

// close closes the process.
func (w *world) close(t testing.TB) {
	t.Helper()
	if err := w.engine.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Scope implements scope.Scopes.
func (w *world) Scope(_ context.Context, l session.Location) (*scope.Scope, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return nil, nil, w.broken
	}
	agents := map[string]session.Agent{}
	for name, a := range w.agents {
		agents[name] = a
	}
	project, record := session.ProjectID("global"), cmp.Or(w.record, "prj_test")
	if strings.HasPrefix(l.Directory, "/repo") {
		project, record = "repo", "prj_repo"
	}
	s := &scope.Scope{
		Location: l, ProjectID: project, RecordID: record, Agents: agents, DefaultAgent: "build", Models: w,
		Tools: w.tools, Layers: w.rules,
		NewSandbox: w.newSandbox, Sandbox: func(agent string) session.SandboxMode { return w.sandboxes[agent] },
		Context: w.context, Summaries: w.summaries, Budget: w.budget, Compaction: w.compaction, SaveOutput: w.outputs.Save,
		ReportUsage: w.report, Chain: extension.NewChain(extension.Config{Extensions: w.extensions}),
		FindInstructions: func(visited []string) (found []session.NestedInstruction) {
			for _, path := range visited {
				found = append(found, session.NestedInstruction{Path: path + "/AGENTS.md", Root: l.Directory})
			}
			return found
		},
	}
	if w.movedTo != "" && l.Directory != w.movedTo {
		if w.isGone {
			return nil, nil, session.Errorf(session.CodeInvalid, "the directory %s does not exist", l.Directory).At("directory")
		}
		s.RecordID = "prj_other"
	}
	if path := w.planPath; path != "" {
		s.PlanPath = func(*session.Session) string { return path }
	}
	if small := w.small; small != nil {
		s.Small = func(session.ModelRef) (session.ModelRef, bool) { return *small, true }
	}
	return s, func() {}, nil
}

// FindMoved implements scope.Scopes.
func (w *world) FindMoved(_ context.Context, s *session.Session, here *scope.Scope) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.movedTo == "" || s.Location.Directory == w.movedTo || here != nil && here.RecordID == s.RecordID {
		return "", nil
	}
	return w.movedTo, nil
}

// Chain implements scope.Scopes.
func (w *world) Chain(ctx context.Context, l session.Location) *extension.Chain {
	s, _, err := w.Scope(ctx, l)
	if err != nil {
		return nil
	}
	return s.Chain
}

// Resolve implements scope.Models.
func (w *world) Resolve(ref session.ModelRef, _ session.Agent) (*scope.Model, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.models[ref.String()]
	if !ok {
		return nil, session.NotFound("model", ref.String(), "test/one", "test/two")
	}
	c := *m
	return &c, nil
}

// Default implements scope.Models.
func (w *world) Default() (session.ModelRef, error) {
	return session.ModelRef{ID: "one", ProviderID: "test"}, nil
}

func (w *world) context(_ context.Context, in scope.ContextInput) (systemcontext.Context, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c systemcontext.Context
	for _, s := range w.sources {
		if s.gone {
			continue
		}
		spec := systemcontext.Spec[string]{
			Key: s.key,
			Load: func(context.Context) (string, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if s.unreadable {
					return "", errors.New("permission denied")
				}
				return s.value, nil
			},
			Baseline: func(v string) string { return s.key + " is " + v },
			Update:   func(_, v string) string { return s.key + " is now " + v },
		}
		if s.removable {
			spec.Removal = func(string) string { return s.key + " is gone" }
		}
		c = append(c, systemcontext.Make(spec))
	}
	if nested := in.Session.Nested; len(nested) > 0 {
		paths := make([]string, len(nested))
		for i, n := range nested {
			paths[i] = n.Path
		}
		c = append(c, systemcontext.Make(systemcontext.Spec[string]{
			Key: "core/nested", Value: strings.Join(paths, ", "),
			Baseline: func(all string) string { return all + " applies" },
			Update:   func(_, all string) string { return all + " applies now" },
		}))
	}
	for _, e := range in.Session.Entries {
		c = append(c, systemcontext.Make(systemcontext.Spec[string]{
			Key: "entry/" + e.Key, Value: e.Value.String(),
			Baseline: func(v string) string { return "entry " + v },
			Update:   func(_, v string) string { return "entry " + v },
		}))
	}
	if a := in.Agent; a.Description != "" {
		c = append(c, systemcontext.Make(systemcontext.Spec[string]{
			Key:      "agent/skills",
			Load:     func(context.Context) (string, error) { return a.Description, nil },
			Baseline: func(v string) string { return "skills: " + v },
			Update:   func(_, v string) string { return "skills are now " + v },
			Removal:  func(string) string { return "no skills" },
		}))
	}
	return c, nil
}

// testTool is a tool that runs a function.
type testTool struct {
	def tool.Definition
	run func(ctx context.Context, c tool.Call, in toolInput) (tool.Output, error)
}

type toolInput struct {
	Text  string `json:"text"`
	Path  string `json:"path"`
	Token string `json:"token"`
	For   string `json:"for"`
	Gate  string `json:"gate"`
}

func (t *testTool) Definition() tool.Definition { return t.def }

func (t *testTool) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	var in toolInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Output{}, tool.Failf("bad input: %v", err)
	}
	return t.run(ctx, c, in)
}

func says(text string) (tool.Output, error) {
	return tool.Output{Content: session.TextContent(text)}, nil
}

func (w *world) testTools() []tool.Tool {
	make := func(name string, run func(context.Context, tool.Call, toolInput) (tool.Output, error)) tool.Tool {
		return &testTool{tool.Definition{Name: name, Description: name, Schema: jsontext.Value(`{"type":"object"}`)}, run}
	}
	return []tool.Tool{
		make("echo", func(_ context.Context, _ tool.Call, in toolInput) (tool.Output, error) {
			out, err := says(in.Text)
			if strings.HasPrefix(in.Path, "src") {
				out.Visited = []string{in.Path}
			}
			return out, err
		}),
		make("slow", w.slow),
		make("edit", w.edit),
		make("write", w.write),
		make("boom", func(context.Context, tool.Call, toolInput) (tool.Output, error) { panic("boom") }),
		make("fails", func(context.Context, tool.Call, toolInput) (tool.Output, error) {
			return tool.Output{}, tool.Failf("the disk is full")
		}),
		make("done", func(ctx context.Context, _ tool.Call, in toolInput) (tool.Output, error) {
			<-ctx.Done() // finishes although it is stopped: what it did must be recorded
			return says("finished all the same")
		}),
	}
}

// slow waits for a time or a gate, or until it is cancelled.
func (w *world) slow(ctx context.Context, c tool.Call, in toolInput) (tool.Output, error) {
	var gate chan struct{}
	if in.Gate != "" {
		gate = w.gates[in.Gate]
	}
	var timer <-chan time.Time
	if in.For != "" {
		d, err := time.ParseDuration(in.For)
		if err != nil {
			return tool.Output{}, tool.Failf("%v", err)
		}
		timer = time.After(d)
	}
	if gate == nil && timer == nil {
		return says(in.Text)
	}
	select {
	case <-ctx.Done():
		return tool.Output{}, context.Cause(ctx)
	case <-gate:
	case <-timer:
	}
	return says(in.Text)
}

// edit asks first, then has an effect. It waits before each.
func (w *world) edit(ctx context.Context, c tool.Call, in toolInput) (tool.Output, error) {
	if _, err := w.slow(ctx, c, in); err != nil {
		return tool.Output{}, err
	}
	err := c.Ask(ctx, tool.Request{Action: "edit", Resources: []string{in.Path}, Save: []string{"*"}})
	if err != nil {
		return tool.Output{}, err
	}
	if _, err := w.slow(ctx, c, in); err != nil {
		return tool.Output{}, err
	}
	w.effect(in.Token)
	return says("edited " + in.Path)
}

// write has an effect at once and then waits.
func (w *world) write(ctx context.Context, c tool.Call, in toolInput) (tool.Output, error) {
	w.effect(in.Token)
	if in.For != "" {
		return w.slow(ctx, c, in)
	}
	return says("wrote " + in.Token)
}

func (w *world) effect(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[token]++
}

func (w *world) doubled() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for token, n := range w.effects {
		if n > 1 {
			return fmt.Errorf("the effect %s happened %d times", token, n)
		}
	}
	return nil
}

// rules inserts the agent's own rules after the first layer, the defaults.
func (w *world) rules(a session.Agent) []permission.Layer {
	first := min(1, len(w.layers))
	ls := slices.Clone(w.layers[:first])
	ls = append(ls, permission.Layer{Name: "agent", Source: a.ID, Rules: a.Permissions})
	return append(ls, w.layers[first:]...)
}
