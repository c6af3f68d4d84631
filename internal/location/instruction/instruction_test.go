package instruction

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// world is a temporary directory with a home, a repository and its sub/deep as location.
type world struct {
	t    *testing.T
	root string
	opts Options
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, root, Options{
		Config: filepath.Join(root, "config"), Foreign: filepath.Join(root, "foreign"), Home: filepath.Join(root, "home"),
		Directory: filepath.Join(root, "repo/sub/deep"), Worktree: filepath.Join(root, "repo"),
	}}
	w.write("repo/sub/deep/main.go", "package main")
	for name, content := range files {
		w.write(name, content)
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, name) }

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(name, target string) {
	w.t.Helper()
	if err := os.Symlink(target, w.path(name)); err != nil {
		w.t.Skip(err)
	}
}

func (w *world) short(s string) string { return strings.ReplaceAll(s, w.root+"/", "") }

// context loads the registered sources.
func (w *world) context() systemcontext.Context {
	w.t.Helper()
	var r systemcontext.Registry
	if err := Register(&r, w.opts); err != nil {
		w.t.Fatal(err)
	}
	c, err := r.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) baseline() string {
	w.t.Helper()
	g, err := systemcontext.Initialize(w.t.Context(), w.context())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.short(g.Baseline)
}

func TestDiscovery(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		opts  func(o *Options)
		want  string
	}{
		{"nothing", nil, nil, ""},
		{
			"global, then nearest first",
			map[string]string{
				"repo/AGENTS.md":          "top\n",
				"config/AGENTS.md":        "global",
				"repo/sub/deep/AGENTS.md": "deep",
				"AGENTS.md":               "outside",
				"foreign/AGENTS.md":       "other",
			},
			nil,
			"Instructions from: config/AGENTS.md\nglobal\n\nInstructions from: repo/sub/deep/AGENTS.md\ndeep\n\n" +
				"Instructions from: repo/AGENTS.md\ntop",
		},
		{
			"relatives where there is no AGENTS.md",
			map[string]string{
				"home/.claude/CLAUDE.md":   "gc",
				"repo/CLAUDE.md":           "c",
				"repo/CONTEXT.md":          "x",
				"repo/sub/AGENTS.md":       "a",
				"repo/sub/CLAUDE.md":       "no",
				"repo/sub/deep/CONTEXT.md": "y",
			},
			nil,
			"Instructions from: home/.claude/CLAUDE.md\ngc\n\nInstructions from: repo/sub/deep/CONTEXT.md\ny\n\n" +
				"Instructions from: repo/sub/AGENTS.md\na\n\nInstructions from: repo/CLAUDE.md\nc",
		},
		{
			"OpenCode's global file if cairn's is missing",
			map[string]string{"foreign/AGENTS.md": "other"},
			nil,
			"Instructions from: foreign/AGENTS.md\nother",
		},
		{
			"without CLAUDE.md",
			map[string]string{"home/.claude/CLAUDE.md": "gc", "repo/CLAUDE.md": "c", "repo/CONTEXT.md": "x"},
			func(o *Options) { o.DisableClaude = true },
			"Instructions from: repo/CONTEXT.md\nx",
		},
		{
			"without project files",
			map[string]string{"config/AGENTS.md": "global", "repo/AGENTS.md": "top", "repo/docs.md": "d"},
			func(o *Options) { o.DisableProject, o.Configured = true, []string{"docs.md"} },
			"Instructions from: config/AGENTS.md\nglobal",
		},
		{
			"names with brackets",
			map[string]string{"repo/docs/[a]/x.md": "a", "repo/docs/[a]/y.md": "b", "repo/c/x.md": "c", "repo/[c]/x.md": "no"},
			func(o *Options) { o.Configured = []string{"docs/[a]/*.md", "[c]/x.md"} },
			"Instructions from: repo/docs/[a]/x.md\na\n\nInstructions from: repo/docs/[a]/y.md\nb\n\n" +
				"Instructions from: repo/c/x.md\nc",
		},
		{
			"outside of a checkout the directory alone",
			map[string]string{"repo/AGENTS.md": "top", "repo/sub/deep/AGENTS.md": "deep"},
			func(o *Options) { o.Worktree = "" },
			"Instructions from: repo/sub/deep/AGENTS.md\ndeep",
		},
		{
			"empty files are skipped",
			map[string]string{"repo/AGENTS.md": " \n", "repo/sub/AGENTS.md": "s"},
			nil,
			"Instructions from: repo/sub/AGENTS.md\ns",
		},
		{
			"what the configuration names",
			map[string]string{
				"repo/rules/b.md": "b",
				"repo/rules/a.md": "a",
				"home/x.md":       "x",
				"abs.md":          "abs",
				"repo/sub/one.md": "1",
			},
			func(o *Options) {
				o.Configured = []string{
					"rules/*.md",
					"~/x.md",
					filepath.Join(filepath.Dir(o.Worktree), "abs.md"),
					"one.md",
					"none.md",
					"https://x/y.md",
					"../up.md",
					"[",
					"rules/a.md",
				}
			},
			"Instructions from: repo/rules/a.md\na\n\nInstructions from: repo/rules/b.md\nb\n\nInstructions from: home/x.md\n" +
				"x\n\n" +
				"Instructions from: abs.md\nabs\n\nInstructions from: repo/sub/one.md\n1",
		},
		{
			"invalid bytes",
			map[string]string{"repo/AGENTS.md": "a\xffb\x00c"},
			nil,
			"Instructions from: repo/AGENTS.md\na\uFFFDb\uFFFDc",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			if tt.opts != nil {
				tt.opts(&w.opts)
			}
			if diff := cmp.Diff(tt.want, w.baseline()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	w := newWorld(t, map[string]string{"repo/AGENTS.md": "top", "secret": "s3cret"})
	w.link("repo/sub/CLAUDE.md", "../AGENTS.md")
	w.link("repo/sub/deep/AGENTS.md", w.path("secret"))
	want := "Instructions from: repo/sub/deep/AGENTS.md\n(Not read: it is a link that leads out of the project.)\n\n" +
		"Instructions from: repo/sub/CLAUDE.md\ntop"
	if diff := cmp.Diff(want, w.baseline()); diff != "" {
		t.Error(diff)
	}
}

func TestBound(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	w := newWorld(t, map[string]string{
		"repo/sub/AGENTS.md": strings.Repeat(line, 800), "config/AGENTS.md": "global", "repo/AGENTS.md": "top",
	})
	got := w.baseline()
	if len(got) > MaxBytes+1000 {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{
		"global", line + "(Cut here: the file is 80000 bytes long, and instructions are limited to 65536 bytes in all.)\n",
		"Instructions from: repo/AGENTS.md\n(Cut here: the file is 3 bytes long,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%.80q is missing; the end is %q", want, got[len(got)-400:])
		}
	}
}

// A name that is too long for the file system is an error for every user, also for root.
func TestUnreadableIsUnavailable(t *testing.T) {
	w := newWorld(t, map[string]string{"repo/AGENTS.md": "top"})
	g, err := systemcontext.Initialize(t.Context(), w.context())
	if err != nil {
		t.Fatal(err)
	}
	w.opts.Config = w.path(strings.Repeat("x", 300))
	o, err := systemcontext.Reconcile(t.Context(), w.context(), g.Snapshot)
	if err != nil || o.Kind != systemcontext.OutcomeUnchanged {
		t.Errorf("got %+v, %v", o, err)
	}
	_, err = systemcontext.Initialize(t.Context(), w.context())
	if e, ok := errors.AsType[*systemcontext.BlockedError](err); !ok || e.Sources[0].Key != KeyInstructions ||
		!strings.Contains(e.Error(), ": "+w.opts.Config+"/AGENTS.md: ") {
		t.Errorf("got %v", err)
	}
}

func TestChanges(t *testing.T) {
	w := newWorld(t, map[string]string{"repo/AGENTS.md": "top", "repo/sub/AGENTS.md": "sub"})
	g, err := systemcontext.Initialize(t.Context(), w.context())
	if err != nil {
		t.Fatal(err)
	}
	reconcile := func() systemcontext.Outcome {
		t.Helper()
		o, err := systemcontext.Reconcile(t.Context(), w.context(), g.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if o.Generation.Snapshot != nil {
			g.Snapshot = o.Generation.Snapshot
		}
		return o
	}
	if o := reconcile(); o.Kind != systemcontext.OutcomeUnchanged {
		t.Errorf("got %+v", o)
	}
	w.write("repo/sub/AGENTS.md", "new")
	want := "The instructions have changed. What follows replaces all of them that you were given earlier.\n\n" +
		"Instructions from: repo/sub/AGENTS.md\nnew\n\nInstructions from: repo/AGENTS.md\ntop"
	if diff := cmp.Diff(want, w.short(reconcile().Text)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"repo/AGENTS.md", "repo/sub/AGENTS.md"} {
		if err := os.Remove(w.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	want = "The instructions given earlier no longer apply; their files are gone: repo/sub/AGENTS.md, repo/AGENTS.md"
	if diff := cmp.Diff(want, w.short(reconcile().Text)); diff != "" {
		t.Error(diff)
	}
	w.write("repo/AGENTS.md", "back")
	if diff := cmp.Diff("Instructions from: repo/AGENTS.md\nback", w.short(reconcile().Text)); diff != "" {
		t.Error(diff)
	}
}

func TestBuiltins(t *testing.T) {
	now := time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC)
	load := func(e Environment) systemcontext.Context {
		t.Helper()
		var r systemcontext.Registry
		if err := RegisterEnvironment(&r, e); err != nil {
			t.Fatal(err)
		}
		c, err := r.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(c, DateContext(now))
	}
	here := Environment{Directory: "/repo/sub", Worktree: "/repo", Platform: "linux/amd64"}
	g, err := systemcontext.Initialize(t.Context(), load(here))
	if err != nil {
		t.Fatal(err)
	}
	want := "You work here:\n- working directory: /repo/sub\n- project root: /repo\n- git repository: yes\n" +
		"- platform: linux/amd64\n\nToday is Fri Nov 20 2026."
	if diff := cmp.Diff(want, g.Baseline); diff != "" {
		t.Error(diff)
	}
	now = now.Add(time.Minute)
	o, err := systemcontext.Reconcile(t.Context(), load(here), g.Snapshot)
	if err != nil || o.Text != "The date is now Sat Nov 21 2026." {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = systemcontext.Reconcile(
		t.Context(),
		load(Environment{Directory: "/tmp/x", Platform: "p"}),
		o.Generation.Snapshot,
	)
	want = "You now work here:\n- working directory: /tmp/x\n- project root: /tmp/x\n- git repository: no\n- platform: p"
	if err != nil || o.Text != want {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = systemcontext.Reconcile(t.Context(), nil, g.Snapshot)
	if err != nil || o.Kind != systemcontext.OutcomeReady {
		t.Errorf("without an environment there is a new generation: %+v, %v", o, err)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("häßlich\n€", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1<<16 {
			return
		}
		got := string(cut([]byte(s), limit))
		if len(got) > limit || !strings.HasPrefix(s, got) || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("cut(%q, %d) = %q", s, limit, got)
		}
	})
}
