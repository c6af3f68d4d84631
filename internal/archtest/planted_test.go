package archtest

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// sources is a module in memory: file name to text.
type sources map[string]string

// sound is a small module that breaks no rule.
func sound() sources {
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

// pkg is the source of a package that imports others of the planted module.
func pkg(name string, imports ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package %s is planted.\npackage %s\n", name, name)
	for _, i := range imports {
		fmt.Fprintf(&b, "import _ %q\n", i)
	}
	return b.String()
}

func own(name string) string { return "example.org/m/internal/" + name }

func load(t *testing.T, files sources) *Tree {
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

func TestSoundModuleBreaksNothing(t *testing.T) {
	tree := load(t, sound())
	for _, rule := range Rules() {
		for _, f := range rule.Check(tree) {
			t.Errorf("%s: %s", rule.Name, f)
		}
	}
}

// planted are violations: each must be found by its rule, and the words of want must be in the finding.
var planted = []struct {
	rule  string
	name  string
	files sources
	want  string
}{
	{"floors", "no floor", sources{"internal/attic/attic.go": pkg("attic")}, "has no floor; add it to the table"},
	{"floors", "up", sources{"internal/store/store.go": pkg("store", own("engine"))}, "store (floor 1) imports engine (floor 3)"},
	{"floors", "two floors in one go", sources{"internal/session/x.go": "package session\n\nimport _ \"example.org/m/internal/api\"\n", "internal/api/api.go": pkg("api")}, "session (floor 0) imports api (floor 6)"},
	{"floors", "sideways", sources{"internal/permission/permission.go": pkg("permission", own("tool")), "internal/tool/tool.go": pkg("tool")}, "permission imports tool on its own floor 1"},
	{"floors", "the CLI opens a host", sources{"internal/cli/cli.go": pkg("cli", own("host")), "internal/host/host.go": pkg("host")}, "cli (floor 6) imports host (floor 7)"},
	{"floors", "a package imports main's folder", sources{"internal/engine/m.go": "package engine\n\nimport _ \"example.org/m\"\n"}, "engine (floor 3) imports main (floor 7)"},
	{"floors", "test looks up", sources{"internal/engine/x_test.go": "package engine\n\nimport _ \"example.org/m/internal/server/v2\"\n", "internal/server/v2/v2.go": pkg("v2")}, "a test on floor 3 imports server/v2"},
	{"floors", "test of the loop starts a host", sources{"internal/engine/x_test.go": "package engine_test\n\nimport _ \"example.org/m/internal/host\"\n", "internal/host/host.go": pkg("host")}, "a test on floor 3 imports host"},

	{"drivers", "surface opens SQLite", sources{"internal/cli/cli.go": pkg("cli", own("store/sqlite")), "internal/store/sqlite/sqlite.go": pkg("sqlite")}, "imports the driver store/sqlite; only host may"},
	{"drivers", "main opens SQLite", sources{"main.go": "// Command m.\npackage main\n\nimport _ \"example.org/m/internal/store/sqlite\"\n", "internal/store/sqlite/sqlite.go": pkg("sqlite")}, "main imports the driver store/sqlite"},
	{"drivers", "capability knows a protocol", sources{"internal/catalog/catalog.go": pkg("catalog", own("llm/openaichat")), "internal/llm/openaichat/openaichat.go": pkg("openaichat")}, "catalog imports the driver llm/openaichat"},

	{"views", "v2 knows v1", sources{"internal/server/v2/v2.go": pkg("v2", own("server/v1")), "internal/server/v1/v1.go": pkg("v1")}, "server/v2 knows server/v1"},
	{"views", "v1 knows v2 in a test", sources{"internal/server/v1/v1.go": pkg("v1"), "internal/server/v1/v1_test.go": "package v1\n\nimport _ \"example.org/m/internal/server/v2\"\n", "internal/server/v2/v2.go": pkg("v2")}, "server/v1 knows server/v2"},
	{"views", "engine knows a view", sources{"internal/engine/x.go": "package engine\n\nimport _ \"example.org/m/internal/opencode\"\n", "internal/opencode/opencode.go": pkg("opencode")}, "engine knows opencode"},

	{"append", "surface appends", sources{"internal/server/v2/v2.go": "// Package v2.\npackage v2\n\nimport \"example.org/m/internal/eventlog\"\n\nfunc h(l *eventlog.Log) { l.Append() }\n"}, "Append is the engine's"},
	{"append", "host keeps the method value", sources{"internal/host/host.go": "// Package host.\npackage host\n\nimport \"example.org/m/internal/eventlog\"\n\ntype h struct{ log eventlog.Log }\n\nfunc (h *h) f() func() { return h.log.Append }\n"}, "Append is the engine's"},
	{"append", "another file of the package imports the log", sources{"internal/host/host.go": pkg("host", own("eventlog")), "internal/host/x.go": "package host\n\nfunc f(h H) { h.log.Append() }\n"}, "Append is the engine's"},
	{"append", "through an interface", sources{"internal/server/v2/v2.go": "// Package v2.\npackage v2\n\ntype log interface{ Append(x any) error }\n"}, "by the back door"},

	{"below the loop", "capability imports engine", sources{"internal/agent/agent.go": pkg("agent", own("engine"))}, "agent is a capability and imports engine"},
	{"below the loop", "driver imports eventlog", sources{"internal/store/sqlite/sqlite.go": pkg("sqlite", own("eventlog"))}, "store/sqlite is a driver and imports eventlog"},
	{"below the loop", "tool imports engine", sources{"internal/tool/exec/exec.go": pkg("exec", own("engine"))}, "tool/exec is a driver and imports engine"},

	{"words", "session knows llm", sources{"internal/session/x.go": "package session\n\nimport _ \"example.org/m/internal/llm\"\n", "internal/llm/llm.go": pkg("llm")}, "session imports example.org/m/internal/llm"},
	{"words", "llm knows session, in a test", sources{"internal/llm/llm.go": pkg("llm"), "internal/llm/x_test.go": "package llm\n\nimport _ \"example.org/m/internal/session\"\n"}, "llm imports example.org/m/internal/session"},
	{"words", "session wants a library", sources{"internal/session/x.go": "package session\n\nimport _ \"example.org/dep\"\n"}, "session imports example.org/dep"},
	{"words", "fault wants JSON", sources{"internal/fault/fault.go": pkg("fault", jsonModule)}, "fault imports " + jsonModule},

	{"proofs", "product imports an exam", sources{"internal/host/host.go": pkg("host", own("store/storetest")), "internal/store/storetest/storetest.go": pkg("storetest")}, "which is for tests only"},

	{"bans", "encoding/json", sources{"internal/session/x.go": "package session\n\nimport _ \"encoding/json\"\n"}, "imports encoding/json: use"},
	{"bans", "encoding/json in a test", sources{"internal/session/x_test.go": "package session\n\nimport _ \"encoding/json\"\n"}, "imports encoding/json: use"},
	{"bans", "every lexer", sources{"internal/tui/tui.go": pkg("tui", "github.com/alecthomas/chroma/v2/lexers")}, "parses every lexer at start"},
	{"bans", "glamour below its version", sources{"internal/tui/tui.go": pkg("tui", "charm.land/glamour/v2/ansi")}, "pulls every lexer"},

	{"package names", "says nothing", sources{"internal/helper/helper.go": pkg("helper")}, "package name helper says nothing"},
	{"package names", "not its folder", sources{"internal/store/store.go": pkg("storage")}, "package storage lives in folder store"},
	{"package names", "two words", sources{"internal/event_log/x.go": pkg("event_log")}, "not one lower-case word"},

	{"package docs", "none", sources{"internal/session/session.go": "package session\n"}, "has no package doc"},
	{"package docs", "two", sources{"internal/session/x.go": "// Package session again.\npackage session\n"}, "a package has one doc comment"},
	{"package docs", "in the wrong file", sources{"internal/session/session.go": "package session\n", "internal/session/doc.go": "// Package session.\npackage session\n"}, "in the file of its own name"},

	{"verbs", "second home", sources{"internal/host/host.go": "// Package host.\npackage host\n\ntype H struct{}\n\nfunc (H) Drain() {}\n"}, "Drain is a reserved verb and means what engine does"},
	{"verbs", "a function counts", sources{"internal/tool/tool.go": "// Package tool.\npackage tool\n\nfunc Append() {}\n"}, "Append is a reserved verb"},
	{"verbs", "no home yet, two claims", sources{"internal/permission/permission.go": "// Package permission.\npackage permission\n\nfunc Reply() {}\n", "internal/tool/tool.go": "// Package tool.\npackage tool\n\nfunc Reply() {}\n"}, "means what permission does"},

	{"sizes", "long function", sources{"internal/session/x.go": "package session\n\nfunc long() {" + strings.Repeat("\n", 80) + "}\n"}, "long has 81 lines"},
	{"sizes", "long method", sources{"internal/session/x.go": "package session\n\ntype T[A any] struct{}\n\nfunc (t *T[A]) long() {" + strings.Repeat("\n", 80) + "}\n"}, "(*T).long has 81 lines"},
	{"sizes", "long file", sources{"internal/session/x.go": "package session\n" + strings.Repeat("\n", 600)}, "has 601 lines"},
	{"sizes", "knows too much", sources{"internal/tool/x.go": pkg("tool", own("a"), own("b"), own("c"), own("d"), own("e"), own("f"), own("g"), own("h"), own("i"))}, "imports 9 of our packages"},

	{"shapes", "init", sources{"internal/session/x.go": "package session\n\nfunc init() {}\n"}, "init runs behind everybody's back"},
	{"shapes", "five parameters", sources{"internal/session/x.go": "package session\n\nimport \"context\"\n\nfunc f(ctx context.Context, a, b, c, d, e int) {}\n"}, "f takes 5 parameters after ctx"},
	{"shapes", "stored context", sources{"internal/session/x.go": "package session\n\nimport \"context\"\n\ntype T struct{ ctx context.Context }\n"}, "T keeps a context"},
	{"shapes", "wide interface", sources{"internal/session/x.go": "package session\n\ntype I interface{ A(); B(); C(); D(); E(); F(); G(); H(); J(); K(); L() }\n"}, "I has 11 methods"},
	{"shapes", "global lock", sources{"internal/session/x.go": "package session\n\nimport \"sync\"\n\nvar mu sync.Mutex\n"}, "state at package level has no owner"},
	{"shapes", "global atomic", sources{"internal/session/x.go": "package session\n\nimport \"sync/atomic\"\n\nvar p atomic.Pointer[int]\n"}, "state at package level has no owner"},
	{"shapes", "sleeping test", sources{"internal/session/x_test.go": "package session\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"}, "a test sleeps on the real clock"},

	{"walk", "no such file", sources{"docs/WALK.md": "| 1 | `engine/gone.go` | `run` | x |\n"}, "internal/engine/gone.go does not exist"},
	{"walk", "no such function", sources{"docs/WALK.md": "| 1 | `engine/engine.go` | `(*Engine).run` | x |\n"}, "has no function (*Engine).run"},
	{"walk", "planned and there", sources{"docs/WALK.md": "| 1 | `engine/engine.go` | `run` | (planned) x |\n"}, "take the mark away"},
	{"walk", "planned, there, other name", sources{"docs/WALK.md": "| 1 | `engine/engine.go` | `walk` | (planned) x |\n"}, "has no function walk"},
	{"walk", "one function for two files", sources{"docs/WALK.md": "| 1 | `engine/engine.go` -> `tool/settle.go` | `run` | x |\n"}, "names 2 files and 1 functions"},
	{"walk", "no table", sources{"docs/WALK.md": "nothing\n"}, "has no table"},

	{"links", "dead", sources{"README.md": "[a](docs/adr/0001-dependencies.md) [b](docs/GONE.md#x)\n"}, "links to docs/GONE.md"},
	{"links", "relative to its page", sources{"docs/x.md": "[b](docs/GLOSSARY.md)\n"}, "links to docs/GLOSSARY.md"},

	{"papers", "a manual", sources{"AGENTS.md": strings.Repeat("x\n", 101)}, "has 101 lines"},
	{"papers", "verb without a meaning", sources{"docs/GLOSSARY.md": "**Admit**\n"}, "does not explain the reserved verb **Tail**"},
	{"papers", "gap", sources{"docs/adr/0003-x.md": "## Context\n## Decision\n## What we gave up\n"}, "is not number 0002"},
	{"papers", "nothing given up", sources{"docs/adr/0002-x.md": "## Context\n## Decision\n"}, "has no section"},
	{"papers", "dependency without a reason", sources{"go.mod": "module example.org/m\n\nrequire (\n\texample.org/dep v1.0.0\n\texample.org/new v1.0.0\n\texample.org/far v1.0.0 // indirect\n)\n"}, "gives no reason for `example.org/new`"},
}

// TestEveryRuleFindsWhatIsPlanted also fails for a rule that nothing is planted for.
func TestEveryRuleFindsWhatIsPlanted(t *testing.T) {
	check, shown := map[string]func(*Tree) []Finding{}, map[string]bool{}
	for _, rule := range Rules() {
		check[rule.Name] = rule.Check
	}
	for _, c := range planted {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			if check[c.rule] == nil {
				t.Fatalf("no rule %q", c.rule)
			}
			files := sound()
			maps.Copy(files, c.files)
			got := check[c.rule](load(t, files))
			if !contains(got, c.want) {
				t.Errorf("want a finding with %q, got %v", c.want, got)
			}
		})
		shown[c.rule] = true
	}
	for _, rule := range Rules() {
		if !shown[rule.Name] {
			t.Errorf("rule %q is never shown to fail; plant a violation", rule.Name)
		}
	}
}

func contains(findings []Finding, want string) bool {
	for _, f := range findings {
		if strings.Contains(f.String(), want) {
			return true
		}
	}
	return false
}

// TestAllowedThings are near misses: no rule may find anything in them.
func TestAllowedThings(t *testing.T) {
	cases := map[string]sources{
		"a test wires a driver and an exam": {
			"internal/engine/x_test.go":             "package engine_test\n\nimport (\n\t_ \"example.org/m/internal/store/sqlite\"\n\t_ \"example.org/m/internal/store/storetest\"\n)\n",
			"internal/store/sqlite/sqlite.go":       pkg("sqlite"),
			"internal/store/storetest/storetest.go": pkg("storetest"),
		},
		"the test of a surface starts a host": {
			"internal/cli/cli.go":    pkg("cli"),
			"internal/cli/x_test.go": "package cli_test\n\nimport _ \"example.org/m/internal/host\"\n",
			"internal/host/host.go":  pkg("host"),
		},
		"a folder of tests needs no floor": {"bench/x_test.go": "package bench\n"},
		"an imported function Append is not the method": {
			"internal/host/host.go": "// Package host.\npackage host\n\nimport (\n\t\"example.org/append/uvarint\"\n\t_ \"example.org/m/internal/eventlog\"\n)\n\nfunc f() { uvarint.Append() }\n",
		},
		"replacements of what is banned": {"internal/session/x.go": "package session\n\nimport (\n\t_ \"log/slog\"\n\t_ \"math/rand/v2\"\n)\n"},
		"generated files may be long":    {"internal/session/x.go": "// Code generated by x. DO NOT EDIT.\n\npackage session\n" + strings.Repeat("\n", 700)},
		"a test sleeps in a bubble":      {"internal/session/x_test.go": "package session\n\nimport (\n\t_ \"testing/synctest\"\n\t\"time\"\n)\n\nfunc f() { time.Sleep(1) }\n"},
		"a planned row":                  {"docs/WALK.md": "| 1 | `engine/gone.go` -> `engine/engine.go` | `a` -> `b` | (planned) x |\n| 2 | `engine/engine.go` | `other` | (planned) x |\n"},
		"links in code, in the page, in the world": {
			"README.md": "`[a](b)` [c](#d) [e](https://example.org/f)\n```\n[g](h)\n```\n",
		},
		"other modules and testdata": {
			"tools/go.mod": "module x\n", "tools/x.go": "package helper\n",
			"internal/session/testdata/x.go": "package helper\n", ".cache/x.go": "package helper\n",
		},
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			all := sound()
			maps.Copy(all, files)
			tree := load(t, all)
			for _, rule := range Rules() {
				for _, f := range rule.Check(tree) {
					t.Errorf("%s: %s", rule.Name, f)
				}
			}
		})
	}
}

func TestLinkedFindsWhatIsPlanted(t *testing.T) {
	got := checkLinked([]string{"fmt", "testing/iotest", "testingx", "github.com/alecthomas/chroma/v2/lexers"})
	if len(got) != 2 || got[0].At != "testing/iotest" {
		t.Errorf("got %v", got)
	}
}

func TestStaleExceptionsAreFound(t *testing.T) {
	files := sound()
	files["internal/session/x.go"] = "package session\n\nfunc long() {" + strings.Repeat("\n", 80) + "}\n"
	list := map[string]string{"session.long": "x", "session.gone": "x", "absent.long": "its package is not there yet"}
	got := checkStale(load(t, files), list)
	if len(got) != 1 || got[0].At != "session.gone" {
		t.Errorf("got %v", got)
	}
}
