package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/builtin"
)

// The test program is its own supervisor, and a server that a test can kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case builtin.SuperviseWord:
			os.Exit(builtin.Supervise(os.Args[2:]))
		case sandbox.Word:
			os.Exit(sandbox.Enter(os.Args[2:]))
		case serverWord:
			serve(os.Args[2:])
		}
	}
	os.Exit(m.Run())
}

// bench is a Location with its tools and somebody who answers what they ask.
type bench struct {
	t     testing.TB
	dir   string
	set   *tool.Set
	rules []session.Rule
	onAsk func(r tool.Request) // called before an answer is given

	mu    sync.Mutex // guards asked
	asked []tool.Request
}

// allowAll is what a bench allows unless told otherwise.
var allowAll = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}, {Action: "external_directory", Resource: "*", Effect: session.Ask}}

func newBench(t testing.TB, change ...func(*builtin.Config)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(dir, "work"), rules: allowAll}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := builtin.Config{Directory: b.dir, Worktree: b.dir, Shell: "/bin/bash", Outputs: &tool.Outputs{Dir: filepath.Join(dir, "tool-output")}}
	for _, f := range change {
		f(&c)
	}
	r := tool.NewRegistry(tool.Config{Outputs: c.Outputs, Limits: c.Limits})
	if _, err := r.Register(builtin.New(c)...); err != nil {
		t.Fatal(err)
	}
	b.set = r.Materialize(nil)
	return b
}

// outside returns a path beside the working directory.
func (b *bench) outside(name string) string { return filepath.Join(filepath.Dir(b.dir), name) }

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// file writes a file and returns its path.
func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = b.path(name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) content(path string) string {
	b.t.Helper()
	if !filepath.IsAbs(path) {
		path = b.path(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) ask(_ context.Context, r tool.Request) error {
	if b.onAsk != nil {
		b.onAsk(r)
	}
	b.mu.Lock()
	b.asked = append(b.asked, r)
	b.mu.Unlock()
	d := permission.EvaluateAll([]permission.Layer{{Rules: b.rules}}, nil, permission.Subject{Action: r.Action, Resources: r.Resources, Seen: r.Seen})
	if d.Effect == session.Allow {
		return nil
	}
	return &tool.Denied{Action: r.Action, Resources: r.Resources, Rule: d.Rule}
}

// asks returns what was asked since the last time, as "action resource".
func (b *bench) asks() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, r := range b.asked {
		out = append(out, r.Action+" "+strings.Join(r.Resources, ","))
	}
	b.asked = nil
	return out
}

type in map[string]any

// call settles one call.
func (b *bench) call(name string, input in) tool.Settlement {
	b.t.Helper()
	return b.callWith(b.t.Context(), tool.Call{Name: name}, input)
}

func (b *bench) callWith(ctx context.Context, c tool.Call, input in) tool.Settlement {
	b.t.Helper()
	raw, err := json.Marshal(map[string]any(input))
	if err != nil {
		b.t.Fatal(err)
	}
	c.Input, c.Ask, c.SessionID = raw, b.ask, "ses_test"
	return b.set.Settle(ctx, c)
}

// says is the text of an outcome: the content, or the reason and words of the error.
func says(s tool.Settlement) string {
	if s.Error != nil {
		return string(s.Error.Reason) + ": " + s.Error.Message
	}
	var b strings.Builder
	for _, c := range s.Output.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func member(t testing.TB, v jsontext.Value, name string) string {
	t.Helper()
	var m map[string]jsontext.Value
	if err := json.Unmarshal(v, &m); err != nil {
		t.Fatalf("%v: %s", err, v)
	}
	return string(m[name])
}

func mustHave(t testing.TB, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Fatalf("%q is missing in:\n%.3000s", want, got)
		}
	}
}

func TestDefinitions(t *testing.T) {
	b := newBench(t)
	want := map[string]string{"apply_patch": "edit", "bash": "bash", "edit": "edit", "glob": "glob", "grep": "grep", "job": "job", "list": "list", "read": "read", "write": "edit"}
	for _, d := range b.set.Definitions() {
		if want[d.Name] != d.Action || len(d.Description) < 80 || len(d.Description) > 1500 || !d.Schema.IsValid() {
			t.Errorf("%s: action %q, description %d bytes", d.Name, d.Action, len(d.Description))
		}
		delete(want, d.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

type configOf = builtin.Config

func toolCall(name string) tool.Call { return tool.Call{Name: name} }

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
