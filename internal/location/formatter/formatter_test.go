//go:build unix

package formatter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// write writes files below a directory; those below bin and node_modules are programs.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mode := os.FileMode(0o600)
		if strings.Contains(name, "bin/") {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

const appends = "#!/bin/sh\nfor last; do :; done\necho \"by $(basename \"$0\")\" >> \"$last\"\n"

// newProject returns a project below a repository, with programs that append their names to the file.
func newProject(t *testing.T, files map[string]string) Options {
	t.Helper()
	top := t.TempDir()
	bin := filepath.Join(top, "usr", "bin")
	programs := map[string]string{}
	for _, name := range []string{"gofmt", "ruff", "uv", "biome", "rubocop", "htmlbeautifier", "prettier"} {
		programs["usr/bin/"+name] = appends
	}
	write(t, top, programs)
	write(t, top, files)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	dir := filepath.Join(top, "repo", "lib")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return Options{Configured: config.Formatters{}, Directory: dir, Worktree: filepath.Join(top, "repo")}
}

// TestChoose: which formatters run for a file, by its name, by what the project has, by the configuration and by trust.
func TestChoose(t *testing.T) {
	inPath := func(o *Options) {
		o.Environment.Set = []string{"PATH=" + filepath.Join(o.Worktree, "bin")}
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		change  func(o *Options)
		path    string
		want    []string
		program string // of the first, relative to the repository's parent
	}{
		{"gofmt needs nothing", nil, nil, "a.go", []string{"gofmt"}, "usr/bin/gofmt"},
		{"none is configured", nil, func(o *Options) { o.Configured = nil }, "a.go", nil, ""},
		{"no formatter for the extension", nil, nil, "a.unknown", nil, ""},
		{"a name that is an extension", nil, nil, ".go", nil, ""},
		{"ruff needs its configuration", nil, nil, "a.py", []string{"uv"}, ""},
		{"ruff above the directory", map[string]string{"repo/ruff.toml": ""}, nil, "a.py", []string{"ruff"}, ""},
		{"above the repository does not count", map[string]string{"ruff.toml": ""}, nil, "a.py", []string{"uv"}, ""},
		{"ruff named by the project", map[string]string{"repo/pyproject.toml": "[tool.ruff]"}, nil, "a.py", []string{"ruff"}, ""},
		{"two parts", nil, nil, "a.html.erb", []string{"htmlbeautifier"}, ""},
		{"the project's code is not trusted", map[string]string{
			"repo/package.json": `{"devDependencies": {"prettier": "3"}}`, "repo/node_modules/.bin/prettier": appends,
		}, nil, "a.md", nil, ""},
		{"the project's code is trusted", map[string]string{
			"repo/package.json": `{"devDependencies": {"prettier": "3"}}`, "repo/node_modules/.bin/prettier": appends,
		}, func(o *Options) { o.Trusted = true }, "a.md", []string{"prettier"}, "repo/node_modules/.bin/prettier"},
		{
			"both fit",
			map[string]string{"repo/package.json": `{"dependencies": {"prettier": "3"}}`, "repo/lib/biome.json": ""},
			func(o *Options) { o.Trusted = true }, "a.ts",
			[]string{"prettier", "biome"},
			"",
		},
		{"disabled", nil, func(o *Options) {
			o.Configured = config.Formatters{"gofmt": {Disabled: true}}
		}, "a.go", nil, ""},
		{"a command of the project is trusted", map[string]string{"repo/lib/bin/mine": appends}, func(o *Options) {
			o.Trusted, o.Configured = true, config.Formatters{"rubocop": {Command: []string{"bin/mine", "$FILE"}}}
		}, "a.rb", []string{"rubocop"}, "repo/lib/bin/mine"},
		{"a command of the project is not trusted", map[string]string{"repo/lib/bin/mine": appends}, func(o *Options) {
			o.Configured = config.Formatters{"rubocop": {Command: []string{"bin/mine", "$FILE"}}}
		}, "a.rb", nil, ""},
		{"PATH leads into the project", map[string]string{"repo/bin/air": appends}, inPath, "a.R", nil, ""},
		{"PATH leads into the trusted project", map[string]string{"repo/bin/air": appends}, func(o *Options) {
			inPath(o)
			o.Trusted = true
		}, "a.R", []string{"air"}, "repo/bin/air"},
		{"one of the user's own", nil, func(o *Options) {
			o.Configured = config.Formatters{"sql": {Command: []string{"gofmt", "$FILE"}, Extensions: []string{".sql"}}, "odd": {}}
		}, "a.sql", []string{"sql"}, ""},
		{"its program is missing", nil, func(o *Options) {
			o.Configured = config.Formatters{"sql": {Command: []string{"no-such"}, Extensions: []string{".sql"}}}
		}, "a.sql", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newProject(t, c.files)
			if c.change != nil {
				c.change(&o)
			}
			s := New(o)
			var got []string
			first := ""
			for _, r := range s.rows {
				if program, ok := s.findProgram(r); ok && r.accepts(c.path) {
					if got = append(got, r.name); first == "" {
						first = program
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if c.program != "" && first != filepath.Join(filepath.Dir(o.Worktree), c.program) {
				t.Errorf("the program is %s", first)
			}
		})
	}
}

// TestFormat: formatters run one after the other, with their variables, and stop at the first that fails or takes too
// long.
func TestFormat(t *testing.T) {
	o := newProject(t, nil)
	o.Configured = config.Formatters{
		"a": {Command: []string{"sh", "-c", `echo "$WORD" >> "$0"`, "$FILE"}, Extensions: []string{".x"}, Environment: map[string]string{"WORD": "first"}},
		"b": {Command: []string{"sh", "-c", `echo said; echo why >&2; exit 3`}, Extensions: []string{".x"}},
		"c": {Command: []string{"sh", "-c", `echo never >> "$0"`, "$FILE"}, Extensions: []string{".x"}},
		"d": {Command: []string{"sleep", "100"}, Extensions: []string{".slow"}},
	}
	o.Environment = process.Environment{Deny: []string{"SECRET"}}
	o.Timeout = time.Minute
	write(t, o.Directory, map[string]string{"f.x": "text\n", "f.slow": ""})
	runs := New(o).Format(t.Context(), filepath.Join(o.Directory, "f.x"))
	if len(runs) != 2 || runs[0] != (Run{Name: "a"}) || runs[1].Name != "b" || runs[1].Err == nil ||
		runs[1].Err.Error() != "exit code 3: why" {
		t.Errorf("%+v", runs)
	}
	if text, err := os.ReadFile(filepath.Join(o.Directory, "f.x")); err != nil || string(text) != "text\nfirst\n" {
		t.Errorf("%q %v", text, err)
	}
	o.Timeout = time.Millisecond
	set, path := New(o), filepath.Join(o.Directory, "f.slow")
	runs = set.Format(t.Context(), path)
	if len(runs) != 1 || !runs[0].Late || runs[0].Err == nil {
		t.Errorf("%+v", runs)
	}
	if again := set.Format(t.Context(), path); len(again) != 0 {
		t.Errorf("a formatter that was late runs again: %+v", again)
	}
}

// TestList: the list has all formatters in OpenCode's form, and says which can be used.
func TestList(t *testing.T) {
	list := New(newProject(t, nil)).List()
	if len(list) != len(rows) {
		t.Errorf("%d formatters, want %d", len(list), len(rows))
	}
	i := slices.IndexFunc(list, func(s Status) bool { return s.Name == "gofmt" })
	if diff := cmp.Diff(Status{Name: "gofmt", Extensions: []string{".go"}, Enabled: true}, list[i]); diff != "" {
		t.Error(diff)
	}
	if off := New(Options{Directory: t.TempDir()}).List(); len(off) != 0 {
		t.Errorf("%+v", off)
	}
}
