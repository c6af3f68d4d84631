package lsp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

func TestTable(t *testing.T) {
	t.Parallel()
	servers, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range servers {
		if s.ID == "" || slices.Contains(ids, s.ID) || len(s.Extensions) == 0 || len(s.Programs) == 0 || s.Install == "" {
			t.Errorf("row %q is incomplete or there twice", s.ID)
		}
		if s.Strict && len(s.Roots) == 0 {
			t.Errorf("row %q is strict without files of a root", s.ID)
		}
		for _, p := range s.Programs {
			if len(p.Argv) == 0 || strings.ContainsAny(p.Argv[0], "/\\") {
				t.Errorf("row %q: program %q", s.ID, p.Argv)
			}
			if len(p.Settings) > 0 && s.Initialization != nil && s.Initialization.Kind() != '{' {
				t.Errorf("row %q has settings and no object for them", s.ID)
			}
		}
		for _, ext := range s.Extensions {
			if ext != strings.ToLower(ext) && ext[0] == '.' {
				t.Errorf("row %q: extension %q is not in lower case", s.ID, ext)
			}
		}
		ids = append(ids, s.ID)
	}
	// The names that configurations of OpenCode use.
	for _, id := range strings.Fields("deno typescript vue eslint oxlint biome gopls ruby-lsp ty pyright elixir-ls zls csharp " +
		"fsharp sourcekit-lsp rust clangd svelte astro jdtls kotlin-ls yaml-ls lua-ls prisma dart ocaml-lsp bash terraform " +
		"texlab dockerfile gleam clojure-lsp nixd tinymist haskell-language-server julials") {
		if !slices.Contains(ids, id) {
			t.Errorf("there is no row %q", id)
		}
	}
}

// configured returns the value of the key lsp.
func configured(t *testing.T, value string) (out config.LanguageServers) {
	t.Helper()
	if err := json.Unmarshal([]byte(value), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSelect(t *testing.T) {
	t.Parallel()
	all, _ := readTable()
	for _, test := range []struct {
		value    string
		count    int
		problems []string
	}{
		{"true", len(all), nil},
		{"null", 0, nil},
		{"false", 0, nil},
		{"{}", len(all), nil},
		{`{"gopls":{"disabled":true},"none":{"disabled":true}}`, len(all) - 1, nil},
		{`{"mine":{"command":["mine"],"extensions":[".m"]}}`, len(all) + 1, nil},
		{`{"mine":{"command":["mine"]}}`, len(all), []string{"lsp.mine needs a command and extensions"}},
		{`{"mine":{"extensions":[".m"]}}`, len(all), []string{"lsp.mine needs a command and extensions"}},
	} {
		servers, problems := Select(configured(t, test.value))
		if len(servers) != test.count {
			t.Errorf("%s: %d servers", test.value, len(servers))
		}
		if diff := cmp.Diff(test.problems, problems); diff != "" {
			t.Errorf("%s: %s", test.value, diff)
		}
	}
	servers, _ := Select(configured(t, `{"gopls":{"command":["mine","-x"],"env":{"B":"2","A":"1"},"initialization":{"a":1}}}`))
	got := servers[slices.IndexFunc(servers, func(s Server) bool { return s.ID == "gopls" })]
	want := Server{
		ID: "gopls", Extensions: []string{".go"}, Roots: [][]string{{"go.work"}, {"go.mod", "go.sum"}},
		Programs: start("mine", "-x"), Env: []string{"A=1", "B=2"}, Initialization: jsontext.Value(`{"a":1}`),
	}
	got.Pass = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/b.go": "go", "/a/b.TSX": "typescriptreact", "/a/Dockerfile": "dockerfile", "/a/.bashrc": "plaintext",
		"/a/README": "plaintext", "/a/b.zig": "zig", "/a/x.d.ts": "typescript",
	} {
		if got := languageOf(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestFindRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{
		"repo/go.work", "repo/a/go.mod", "repo/a/sub/f.go", "repo/b/main.tf", "repo/b/sub/f.tf", "repo/deno/deno.json",
		"repo/deno/sub/f.ts", "repo/c/f.hs", "repo/c/app.cabal",
	} {
		w.write(name, "")
	}
	repo := filepath.Join(w.dir, "repo")
	m := New(Options{Directory: filepath.Join(repo, "a"), Worktree: repo})
	defer m.Close()
	for _, test := range []struct {
		server Server
		file   string
		want   string // relative to repo; "" if it is not used
	}{
		{Server{Roots: [][]string{{"go.work"}, {"go.mod"}}}, "a/sub/f.go", "."},
		{Server{Roots: [][]string{{"go.mod"}, {"go.work"}}}, "a/sub/f.go", "a"},
		{Server{Roots: [][]string{{"*.tf"}}}, "b/sub/f.tf", "b/sub"},
		{Server{Roots: [][]string{{"*.cabal"}}}, "c/f.hs", "c"},
		{Server{Roots: [][]string{{"none"}}}, "c/f.hs", "a"},
		{Server{Roots: [][]string{{"none"}}, Strict: true}, "c/f.hs", ""},
		{Server{Excludes: []string{"deno.json"}}, "deno/sub/f.ts", ""},
		{Server{Excludes: []string{"deno.json"}}, "b/f.ts", "a"},
		{Server{Roots: [][]string{{"repo"}}, Strict: true}, "c/f.hs", ""}, // above the worktree
	} {
		root, ok := m.findRoot(test.server, filepath.Join(repo, test.file))
		got := ""
		if ok {
			got, _ = filepath.Rel(repo, root)
		}
		if got != test.want {
			t.Errorf("%s with %v: got %q, want %q", test.file, test.server.Roots, got, test.want)
		}
	}
}

func TestFindProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := newWorld(t)
	w.write("sub/node_modules/.bin/local", "#!")
	w.write("bin/trap", "#!")
	w.write("sub/.venv/bin/python", "")
	w.write("sub/plain.txt", "")
	both := outside.write("both", "#!")
	w.write("node_modules/.bin/both", "#!")
	link := outside.write("x/.keep", "")
	link = filepath.Join(filepath.Dir(link), "link")
	if err := os.Symlink(filepath.Join(w.dir, "bin/trap"), link); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"relative", filepath.Join(w.dir, "bin"), outside.dir, filepath.Dir(link)}, ":")
	python := Setting{"python.path", []string{".venv/bin/python"}}
	for _, test := range []struct {
		name    string
		trusted bool
		server  Server
		want    string // the program without the directories, or the error
		init    string
	}{
		{"in the project", true, Server{Programs: start("local")}, "W/sub/node_modules/.bin/local", ""},
		{"untrusted", false, Server{ID: "s", Programs: start("local")}, "language server s is not installed (program local)", ""},
		{"PATH in the project", true, Server{Programs: start("trap")}, "W/bin/trap", ""},
		{"untrusted PATH", false, Server{ID: "s", Programs: start("trap"), Install: "apt"}, "language server s is not installed (program trap): apt", ""},
		{"untrusted link", false, Server{ID: "s", Programs: start("link")}, "language server s is not installed (program link)", ""},
		{"the project's first", true, Server{Programs: start("both")}, "W/node_modules/.bin/both", ""},
		{"untrusted second", false, Server{Programs: start("both")}, "O/both", ""},
		{"absolute", false, Server{Programs: start(both)}, "O/both", ""},
		{"relative", true, Server{Programs: start("./bin/trap")}, "W/bin/trap", ""},
		{"untrusted relative", false, Server{ID: "s", Programs: start("./bin/trap")}, "language server s is not installed (program ./bin/trap)", ""},
		{
			"runs the project", false,
			Server{ID: "s", Programs: start("both"), RunsProject: true},
			"language server s runs code of the project, which is not trusted (see cairn trust)", "",
		},
		{
			"requires", true,
			Server{Programs: []Program{{Argv: []string{"local"}, Requires: "none"}, {Argv: []string{"both"}, Requires: "bin/trap"}}},
			"W/node_modules/.bin/both", "",
		},
		{
			"settings", true,
			Server{
				Programs:       []Program{{Argv: []string{"both"}, Settings: []Setting{python, {"no", []string{"none"}}}}},
				Initialization: jsontext.Value(`{"python":{"x":1}}`),
			},
			"W/node_modules/.bin/both", `{"python":{"path":"W/sub/.venv/bin/python","x":1}}`,
		},
		{
			"settings of the user", true,
			Server{
				Programs:       []Program{{Argv: []string{"both"}, Settings: []Setting{python}}},
				Initialization: jsontext.Value(`{"python":{"path":"mine"}}`),
			},
			"W/node_modules/.bin/both", `{"python":{"path":"mine"}}`,
		},
		{
			"settings of an untrusted project", false,
			Server{Programs: []Program{{Argv: []string{"both"}, Settings: []Setting{python}}}},
			"O/both", "",
		},
	} {
		m := New(Options{
			Directory: w.dir, Trusted: test.trusted, Environment: process.Environment{Set: []string{"PATH=" + path}},
		})
		l, err := m.findProgram(test.server, filepath.Join(w.dir, "sub"))
		m.Close()
		got := ""
		if missing, ok := errors.AsType[*missingError](err); ok {
			got = missing.text
		} else {
			got = l.argv[0]
		}
		short := strings.NewReplacer(w.dir+"/", "W/", outside.dir+"/", "O/")
		if got = short.Replace(got); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if init := short.Replace(string(l.initialization)); init != test.init {
			t.Errorf("%s: initialization %s, want %s", test.name, init, test.init)
		}
	}
}

// A server gets its variables, and none of cairn.
func TestServerEnvironment(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("CAIRN_SECRET", "x")
	t.Setenv("API_KEY", "x")
	m := New(Options{Directory: t.TempDir(), Environment: process.Environment{Set: []string{"PATH=/"}}})
	defer m.Close()
	l, err := m.findProgram(Server{
		Programs: start(os.Args[0]), Pass: []string{"GOFLAGS", "CAIRN_SECRET"}, Env: []string{"MINE=1"},
	}, "/")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"GOFLAGS=-mod=mod": true, "MINE=1": true, "CAIRN_SECRET=x": false, "API_KEY=x": false} {
		if slices.Contains(l.env, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
