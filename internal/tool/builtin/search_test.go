package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// project fills a bench with a small repository. Each file is a second older than the one before.
func project(t testing.TB) *bench {
	b := newBench(t)
	now := time.Now()
	for i, f := range []struct{ name, content string }{
		{"main.go", "package main\n\nfunc main() { run() }\n"},
		{"pkg/run.go", "package pkg\n\n// Run runs.\nfunc Run() {}\n"},
		{"pkg/run_test.go", "package pkg\n"},
		{"web/app.ts", "export const x = 1\n"},
		{"web/app.tsx", "export const y = 2\n"},
		{".github/ci.yml", "on: push\nrun: go\n"},
		{".gitignore", "ignored/\n*.log\n!keep.log\n"},
		{"ignored/x.go", "func run() {}\n"},
		{"debug.log", "run\n"},
		{"keep.log", "run\n"},
		{"pkg/.gitignore", "*.gen.go\n"},
		{"pkg/a.gen.go", "run\n"},
		{"a.gen.go", "run\n"},
		{".git/config", "run\n"},
		{".git/info/exclude", "private.txt\n"},
		{"private.txt", "run\n"},
		{"bin.dat", "run\x00\n"},
	} {
		path := b.file(f.name, f.content)
		at := now.Add(-time.Duration(i) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) relative(lines string) []string {
	var out []string
	for line := range strings.Lines(lines) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), b.dir+"/")
		out = append(out, line)
	}
	return out
}

func TestGlob(t *testing.T) {
	b := project(t)
	for _, c := range []struct {
		in   in
		want []string
	}{
		{in{"pattern": "*.go"}, []string{"main.go", "pkg/run.go", "pkg/run_test.go", "a.gen.go"}},
		{in{"pattern": "**/*.go"}, []string{"main.go", "pkg/run.go", "pkg/run_test.go", "a.gen.go"}},
		{in{"pattern": "./pkg/*.go"}, []string{"pkg/run.go", "pkg/run_test.go"}},
		{in{"pattern": "*.{ts,tsx}"}, []string{"web/app.ts", "web/app.tsx"}},
		{in{"pattern": "*.go", "path": "pkg"}, []string{"pkg/run.go", "pkg/run_test.go"}},
		{in{"pattern": b.path("pkg") + "/*_test.go"}, []string{"pkg/run_test.go"}},
		{in{"pattern": "*.log"}, []string{"keep.log"}},
		{in{"pattern": "*.yml"}, []string{"No files found"}},
		{in{"pattern": ".github/**"}, []string{".github/ci.yml"}},
		{in{"pattern": "private*"}, []string{"No files found"}},
		{in{"pattern": "ignored/*"}, []string{"No files found"}},
	} {
		t.Run(fmt.Sprint(c.in), func(t *testing.T) {
			s := b.call("glob", c.in)
			if diff := cmp.Diff(c.want, b.relative(says(s))); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	for want, input := range map[string]in{
		"There is no directory":        {"pattern": "*", "path": "nope"},
		"is a file, not a directory":   {"pattern": "*", "path": "main.go"},
		"a bracket or brace is not":    {"pattern": "*.{a"},
		"\"pattern\" must not be empt": {"pattern": ""},
	} {
		mustHave(t, says(b.call("glob", input)), want)
	}
}

func TestGlobShowsTheNewest(t *testing.T) {
	b := newBench(t)
	now := time.Now()
	for i := range 150 {
		path := b.file(fmt.Sprintf("f%03d", i), "")
		at := now.Add(time.Duration(i-1000) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := b.call("glob", in{"pattern": "*"})
	got := b.relative(says(s))
	if got[0] != "f149" || got[99] != "f050" || !strings.Contains(got[101], "the 100 most recently changed of 150 files") {
		t.Fatal(got)
	}
	if member(t, s.Output.Structured, "truncated") != "true" || member(t, s.Output.Structured, "count") != "100" {
		t.Fatal(string(s.Output.Structured))
	}
}

func TestGrep(t *testing.T) {
	b := project(t)
	b.file("many.txt", "Alpha\r\nbeta\n\nALPHA beta\ngamma no newline")
	b.file("long.txt", strings.Repeat("z", 5000)+"needle")
	for _, c := range []struct {
		in   in
		want string
	}{
		{in{"pattern": "run", "include": "*.go"}, "Found 3 matches\n%a.gen.go:\n  Line 1: run\n\n%main.go:\n  Line 3: func main() { run() }\n\n%pkg/run.go:\n  Line 3: // Run runs.\n"},
		{in{"pattern": `^func R\w+\(`}, "Found 1 matches\n%pkg/run.go:\n  Line 4: func Run() {}\n"},
		{in{"pattern": "(?i)alpha", "path": "many.txt"}, "Found 2 matches\n%many.txt:\n  Line 1: Alpha\n  Line 4: ALPHA beta\n"},
		{in{"pattern": "(?i)alpha$", "path": "many.txt"}, "Found 1 matches\n%many.txt:\n  Line 1: Alpha\n"},
		{in{"pattern": "newline$"}, "Found 1 matches\n%many.txt:\n  Line 5: gamma no newline\n"},
		{in{"pattern": "^$", "path": "many.txt"}, "Found 1 matches\n%many.txt:\n  Line 3: \n"},
		{in{"pattern": `beta\s*ALPHA`}, "No files found"},
		{in{"pattern": `a\nb`}, "No files found"},
		{in{"pattern": "[^x]eta", "path": "many.txt"}, "Found 2 matches\n%many.txt:\n  Line 2: beta\n  Line 4: ALPHA beta\n"},
		{in{"pattern": "x = 1|y = 2", "include": "*.{ts,tsx}"}, "Found 2 matches\n%web/app.ts:\n  Line 1: export const x = 1\n\n%web/app.tsx:\n  Line 1: export const y = 2\n"},
		{in{"pattern": "push"}, "Found 1 matches\n%.github/ci.yml:\n  Line 1: on: push\n"},
		{in{"pattern": "needle"}, "Found 1 matches\n%long.txt:\n  Line 1: " + strings.Repeat("z", 2000) + "...\n"},
		{in{"pattern": "run", "include": "*.dat"}, "No files found"},
	} {
		t.Run(fmt.Sprint(c.in), func(t *testing.T) {
			want := strings.ReplaceAll(c.want, "%", b.dir+"/")
			if diff := cmp.Diff(want, says(b.call("grep", c.in))); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	for want, input := range map[string]in{
		"not a regular expression in RE2 syntax": {"pattern": "(?=x)"},
		"missing closing )":                      {"pattern": "(x"},
		"There is no directory":                  {"pattern": "x", "path": "nope"},
	} {
		mustHave(t, says(b.call("grep", input)), want)
	}
}

func TestGrepLimit(t *testing.T) {
	b := newBench(t)
	b.file("a.txt", strings.Repeat("hit\n", 70))
	b.file("b.txt", strings.Repeat("hit\n", 70))
	s := b.call("grep", in{"pattern": "hit"})
	mustHave(t, says(s), "Found 100 matches (there are more)\n", "(Only 100 matches are shown.")
	if member(t, s.Output.Structured, "matches") != "100" || member(t, s.Output.Structured, "truncated") != "true" {
		t.Fatal(string(s.Output.Structured))
	}
}

// Lines longer than the buffer and matches across its border are found, with their right numbers.
func TestGrepLargeFile(t *testing.T) {
	b := newBench(t)
	var s strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&s, "line %d of many\n", i+1)
	}
	s.WriteString(strings.Repeat("y", 3<<20) + "\nlast needle\n")
	b.file("big.txt", s.String())
	mustHave(t, says(b.call("grep", in{"pattern": "line 299999 "})), "  Line 299999: line 299999 of many\n")
	mustHave(t, says(b.call("grep", in{"pattern": `last \w+`})), "  Line 300002: last needle\n")
	mustHave(t, says(b.call("grep", in{"pattern": `(?i)LAST needle`})), "  Line 300002: last needle\n")
}

// What may not be read is not shown by grep either.
func TestGrepHidesWhatReadDenies(t *testing.T) {
	b := newBench(t)
	b.file(".env", "KEY=secret\n")
	b.file("a.txt", "KEY here\n")
	b.rules = append(allowAll[:len(allowAll):len(allowAll)], session.Rule{Action: "read", Resource: "*.env", Effect: session.Deny})
	got := says(b.call("grep", in{"pattern": "KEY"}))
	if strings.Contains(got, "secret") {
		t.Fatal(got)
	}
	mustHave(t, got, "a.txt", "Matches in 1 file are not shown")
	if diff := cmp.Diff([]string{"grep KEY", "read .env,a.txt", "read .env", "read a.txt"}, b.asks()); diff != "" {
		t.Fatal(diff)
	}
}

func TestSearchStopsWithItsContext(t *testing.T) {
	b := project(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := b.callWith(ctx, toolCall("grep"), in{"pattern": "run"})
	if s.Error == nil || s.Error.Reason != session.ReasonAborted {
		t.Fatal(says(s))
	}
}

func TestList(t *testing.T) {
	b := project(t)
	b.link("/etc", "etc")
	want := b.dir + "/\n  .github/\n    ci.yml\n  .gitignore\n  a.gen.go\n  bin.dat\n  etc\n  keep.log\n  main.go\n" +
		"  pkg/\n    .gitignore\n    run.go\n    run_test.go\n  web/\n    app.ts\n    app.tsx\n"
	if diff := cmp.Diff(want, says(b.call("list", in{}))); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"list ."}, b.asks()); diff != "" {
		t.Fatal(diff)
	}
	mustHave(t, says(b.call("list", in{"path": "web"})), b.path("web")+"/\n  app.ts\n")
	mustHave(t, says(b.call("list", in{"path": "main.go"})), "is a file, not a directory")
}

func TestListIsBoundedFromTheTop(t *testing.T) {
	b := newBench(t)
	for i := range 30 {
		for j := range 30 {
			b.file(filepath.Join(fmt.Sprintf("d%02d", i), fmt.Sprintf("f%02d", j)), "")
		}
	}
	s := b.call("list", in{})
	got := says(s)
	mustHave(t, got, "  d00/\n    f00\n", "  d29/\n", "(500 entries shown, there are more.")
	if n := strings.Count(got, "\n"); n != 503 {
		t.Fatal(n)
	}
}

// A location below the worktree sees the ignore files above it and names its files from the worktree.
func TestLocationBelowTheWorktree(t *testing.T) {
	top := project(t)
	b := newBench(t, func(c *configOf) { c.Worktree, c.Directory = top.dir, top.path("pkg") })
	b.dir = top.path("pkg")
	mustHave(t, says(b.call("read", in{"filePath": "run.go"})), top.path("pkg/run.go"))
	mustHave(t, says(b.call("read", in{"filePath": "../main.go"})), "func main")
	top.file("pkg/x.log", "run")
	if got := says(b.call("glob", in{"pattern": "*"})); strings.Contains(got, "x.log") || !strings.Contains(got, "run_test.go") {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]string{"read pkg/run.go", "read main.go", "glob *"}, b.asks()); diff != "" {
		t.Fatal(diff)
	}
}
