package archtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// sources is a module in memory: file name to text.
type sources map[string]string

// validModule is a small module that breaks no rule.
func validModule() sources {
	verbList := ""
	for _, v := range sortedKeys(verbs) {
		verbList += "**" + v + "** "
	}
	return sources{
		"go.mod":                      "module example.org/m\n\nrequire example.org/dep v1.0.0\n",
		"main.go":                     "// Command m.\npackage main\n\nfunc main() {}\n",
		"internal/session/session.go": "// Package session has words.\npackage session\n",
		"internal/eventlog/eventlog.go": "// Package eventlog is the log.\npackage eventlog\n\n" +
			"type Log struct{}\n\nfunc (*Log) Append() {}\n",
		"internal/engine/engine.go": "// Package engine is the loop.\npackage engine\n\n" +
			"import \"example.org/m/internal/eventlog\"\n\nfunc run(l *eventlog.Log) { l.Append() }\n",
		"AGENTS.md":                     "# Map\n",
		"docs/GLOSSARY.md":              verbList + "\n",
		"docs/WALK.md":                  "| 1 | `engine/engine.go` | `run` | it runs |\n",
		"docs/adr/0001-dependencies.md": "## Context\n## Decision\n`example.org/dep`\n## What we gave up\n",
	}
}

// declareMethods declares n methods of type typ.
func declareMethods(typ string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\nfunc (*%s) Get%s%d() {}\n", typ, typ, i)
	}
	return b.String()
}

func loadModule(t *testing.T, files sources) *Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestValidModule(t *testing.T) {
	tree := loadModule(t, validModule())
	for _, rule := range Rules() {
		for _, f := range rule.Check(tree) {
			t.Errorf("%s: %s", rule.Name, f)
		}
	}
}

// longViolations are violations of size limits: too long for testdata/violations.
var longViolations = []violation{
	{"sizes", "long function", "long has 81 lines", sources{
		"internal/session/x.go": "package session\n\nfunc long() {" + blankLines(80) + "}\n",
	}},
	{"sizes", "long method", "(*T).long has 81 lines", sources{
		"internal/session/x.go": "package session\n\ntype T[A any] struct{}\n\nfunc (t *T[A]) long() {" +
			blankLines(80) + "}\n",
	}},
	{"sizes", "long file", "has 601 lines", sources{"internal/session/x.go": "package session\n" + blankLines(600)}},
	{"package size", "two packages", "it has become two packages", sources{
		"internal/session/x.go": "package session\n" + blankLines(5000),
	}},
	{"package size", "large without a reason", "give a reason in largePackages", sources{
		"internal/eventlog/x.go": "package eventlog\n" + blankLines(3000),
	}},
	{"method sets", "methods by embedding", "engine.b has 80 methods", sources{
		"internal/engine/x.go": "package engine\n\ntype a struct{}\n\ntype b struct{ *a }\n" +
			declareMethods("a", 40) + declareMethods("b", 40),
	}},
	{"papers", "long map", "has 101 lines", sources{"AGENTS.md": strings.Repeat("x\n", 101)}},
}

// violation is a change of validModule that breaks one rule. A file of testdata/violations has the rule and a part of
// the expected finding before its files.
type violation struct {
	rule, name, want string
	files            sources
}

func blankLines(n int) string { return strings.Repeat("\n", n) }

// readViolations returns the violations of testdata and longViolations.
func readViolations(t *testing.T) []violation {
	t.Helper()
	names, err := filepath.Glob("testdata/violations/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(longViolations)
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		v := violation{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), files: sources{}}
		for line := range strings.Lines(string(archive.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "rule":
				v.rule = value
			case "want":
				v.want = value
			}
		}
		for _, f := range archive.Files {
			v.files[f.Name] = string(f.Data)
		}
		if v.rule == "" || v.want == "" || len(v.files) == 0 {
			t.Fatalf("%s: needs a rule, a want and a file", name)
		}
		all = append(all, v)
	}
	return all
}

// TestRulesFindViolations also fails for a rule without a violation.
func TestRulesFindViolations(t *testing.T) {
	check, covered := map[string]func(*Tree) []Finding{}, map[string]bool{}
	for _, rule := range Rules() {
		check[rule.Name] = rule.Check
	}
	for _, v := range readViolations(t) {
		t.Run(v.rule+"/"+v.name, func(t *testing.T) {
			if check[v.rule] == nil {
				t.Fatalf("unknown rule %q", v.rule)
			}
			files := validModule()
			maps.Copy(files, v.files)
			got := check[v.rule](loadModule(t, files))
			if !hasFinding(got, v.want) {
				t.Errorf("want a finding with %q, got %v", v.want, got)
			}
		})
		covered[v.rule] = true
	}
	for _, rule := range Rules() {
		if !covered[rule.Name] {
			t.Errorf("rule %q has no violation; add one to testdata/violations", rule.Name)
		}
	}
}

func hasFinding(findings []Finding, want string) bool {
	for _, f := range findings {
		if strings.Contains(f.String(), want) {
			return true
		}
	}
	return false
}

// TestNearMisses: no rule finds anything in the files of testdata/allowed.
func TestNearMisses(t *testing.T) {
	names, err := filepath.Glob("testdata/allowed/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no near misses in testdata/allowed (%v)", err)
	}
	cases := map[string]sources{"generated_files_may_be_long": {
		"internal/session/x.go": "// Code generated by x. DO NOT EDIT.\n\npackage session\n" + blankLines(700),
	}}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := sources{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		cases[strings.TrimSuffix(filepath.Base(name), ".txtar")] = files
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			all := validModule()
			maps.Copy(all, files)
			tree := loadModule(t, all)
			for _, rule := range Rules() {
				for _, f := range rule.Check(tree) {
					t.Errorf("%s: %s", rule.Name, f)
				}
			}
		})
	}
}

func TestLinkedPackages(t *testing.T) {
	got := checkLinked([]string{"fmt", "testing/iotest", "testingx", "github.com/alecthomas/chroma/v2/lexers"})
	if len(got) != 2 || got[0].At != "testing/iotest" {
		t.Errorf("got %v", got)
	}
}

func TestStaleExceptions(t *testing.T) {
	files := validModule()
	files["internal/session/x.go"] = "package session\n\nfunc long() {" + strings.Repeat("\n", 80) + "}\n"
	list := map[string]string{"session.long": "x", "session.gone": "x", "absent.long": "its package is not there yet"}
	got := checkStale(loadModule(t, files), list)
	if len(got) != 1 || got[0].At != "session.gone" {
		t.Errorf("got %v", got)
	}
}
