// Package tooltest runs the tools of a Location in tests: it settles calls as the engine does and answers what they
// ask.
package tooltest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/search"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Config configures the tools of a Bench.
type Config struct {
	File   file.Config
	Search search.Config
	Exec   exec.Config
}

// SetPaths sets the directories of all tools.
func (c *Config) SetPaths(paths workpath.Resolver) {
	c.File.Paths, c.Search.Paths, c.Exec.Paths = paths, paths, paths
}

// Bench is a Location with its tools and a person who answers what they ask.
type Bench struct {
	T     testing.TB
	Dir   string // the Location
	Set   *tool.Set
	Rules []session.Rule             // decide what is allowed
	OnAsk func(request tool.Request) // called before a request is answered
	// Confinement is that of commands.
	Confinement tool.Confinement
	Config      Config // of the tools

	mu    sync.Mutex // guards asked
	asked []tool.Request
}

// AllowAll is the rules of a new Bench: everything inside the Location is allowed.
var AllowAll = []session.Rule{
	{Action: "*", Resource: "*", Effect: session.Allow},
	{Action: "external_directory", Resource: "*", Effect: session.Ask},
}

// New returns a Bench in an empty directory. The changes are applied to its default configuration.
func New(t testing.TB, changes ...func(*Config)) *Bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal("resolve the temporary directory:", err)
	}
	b := &Bench{T: t, Dir: filepath.Join(dir, "work"), Rules: AllowAll}
	if err := os.Mkdir(b.Dir, 0o755); err != nil {
		t.Fatal("make the Location:", err)
	}
	outputs := &tool.Outputs{Dir: filepath.Join(dir, "tool-output")}
	c := Config{Exec: exec.Config{Shell: "/bin/bash", Outputs: outputs}}
	c.SetPaths(workpath.Resolver{Directory: b.Dir, Worktree: b.Dir, OutputDir: outputs.Dir})
	for _, change := range changes {
		change(&c)
	}
	r := tool.NewRegistry(tool.Config{Outputs: c.Exec.Outputs, Limits: c.Exec.Limits})
	for _, tools := range [][]tool.Tool{file.New(c.File), search.New(c.Search), exec.New(c.Exec)} {
		if _, err := r.Register(tools...); err != nil {
			t.Fatal("register the tools:", err)
		}
	}
	b.Set, b.Config = r.TakeSnapshot(nil), c
	return b
}

// OutsidePath returns a path beside the Location.
func (b *Bench) OutsidePath(name string) string { return filepath.Join(filepath.Dir(b.Dir), name) }

// Path returns a path in the Location.
func (b *Bench) Path(name string) string { return filepath.Join(b.Dir, filepath.FromSlash(name)) }

// WriteFile writes a file, with its directories, and returns its path. A relative name lies in the Location.
func (b *Bench) WriteFile(name, content string) string {
	b.T.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = b.Path(name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.T.Fatal("make a directory:", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.T.Fatal("write a file:", err)
	}
	return path
}

// ReadFile returns the content of a file. A relative name lies in the Location.
func (b *Bench) ReadFile(path string) string {
	b.T.Helper()
	if !filepath.IsAbs(path) {
		path = b.Path(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.T.Fatal("read a file:", err)
	}
	return string(data)
}

// Symlink makes a link in the Location.
func (b *Bench) Symlink(target, name string) {
	b.T.Helper()
	if err := os.Symlink(target, b.Path(name)); err != nil {
		b.T.Fatal("make a link:", err)
	}
}

func (b *Bench) ask(_ context.Context, r tool.Request) error {
	if b.OnAsk != nil {
		b.OnAsk(r)
	}
	b.mu.Lock()
	b.asked = append(b.asked, r)
	b.mu.Unlock()
	subject := permission.Subject{Action: r.Action, Resources: r.Resources, Command: r.Command}
	layer := permission.Layer{Rules: b.Rules}
	for _, rule := range b.Rules {
		source := "test"
		if slices.Contains(AllowAll, rule) {
			source = permission.BuiltIn
		}
		layer.RuleSources = append(layer.RuleSources, source)
	}
	d := permission.EvaluateAll([]permission.Layer{layer}, nil, subject)
	if d.Effect == session.Allow {
		return nil
	}
	return &tool.Denial{Action: r.Action, Resources: r.Resources, Rule: d.Rule}
}

// TakeRequests returns the permission requests since its last call, as "action resource".
func (b *Bench) TakeRequests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, r := range b.asked {
		out = append(out, r.Action+" "+strings.Join(r.Resources, ","))
	}
	b.asked = nil
	return out
}

// Requests returns the permission requests since the last call of TakeRequests.
func (b *Bench) Requests() []tool.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// Input is the input of a call.
type Input map[string]any

// Call settles one call.
func (b *Bench) Call(name string, input Input) tool.Settlement {
	b.T.Helper()
	return b.CallWith(b.T.Context(), tool.Call{Name: name}, input)
}

// CallWith settles a call that is partly filled in.
func (b *Bench) CallWith(ctx context.Context, c tool.Call, input Input) tool.Settlement {
	b.T.Helper()
	raw, err := json.Marshal(map[string]any(input))
	if err != nil {
		b.T.Fatal("encode the input:", err)
	}
	c.Input, c.Ask, c.SessionID = raw, b.ask, "ses_test"
	c.Confine = func(context.Context) (tool.Confinement, error) { return b.Confinement, nil }
	return b.Set.Settle(ctx, c)
}

// TextOf returns the text of an outcome: the content, or the reason and the message of the error.
func TextOf(s tool.Settlement) string {
	if s.Error != nil {
		return string(s.Error.Reason) + ": " + s.Error.Message
	}
	var b strings.Builder
	for _, c := range s.Output.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Member returns the JSON value of a member of an object, "" if it has none.
func Member(t testing.TB, object jsontext.Value, name string) string {
	t.Helper()
	var m map[string]jsontext.Value
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	return string(m[name])
}

// MustContain ends the test unless got contains every text.
func MustContain(t testing.TB, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Fatalf("%q is missing in:\n%.3000s", want, got)
		}
	}
}

// Quote returns s as a JSON string.
func Quote(s string) string {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(out)
}
