package archtest

import "strings"

const jsonModule = "github.com/go-json-experiment/json"

// ban is an import path, with everything below it, that the house does without.
type ban struct{ path, reason string }

// bans holds for sources and tests of every package.
var bans = []ban{
	{"C", "the binary is built with CGO_ENABLED=0"},
	{"encoding/json", "use " + jsonModule + ": strict by default, and unknown fields survive"},
	{"io/ioutil", "use io and os"},
	{"log", "use log/slog"},
	{"math/rand", "use math/rand/v2, or crypto/rand for anything that names or guards"},
	{"database/sql", "rows are read through the driver's own interface: a third of the CPU, a twentieth of the bytes"},
	{"plugin", "extensions are processes"},
	{"github.com/stretchr/testify", "compare whole values with go-cmp"},
	{"github.com/golang/mock", "fakes, never mocks of our own code"},
	{"go.uber.org/mock", "fakes, never mocks of our own code"},
	{"charm.land/glamour", "pulls every lexer and style at start: 19 ms and 10 MiB"},
	{"github.com/charmbracelet/glamour", "pulls every lexer and style at start: 19 ms and 10 MiB"},
	{"github.com/alecthomas/chroma/v2/lexers", "parses every lexer at start: 15 ms; use the core with a chosen few"},
	{"github.com/alecthomas/chroma/v2/styles", "loads every style at start; ours are few and written here"},
	{"github.com/microcosm-cc/bluemonday", "large tables at start; we render to terminals, not to HTML"},
	{"github.com/go-git/go-git", "ten times slower than git, and its answers differ from the user's git"},
	{"github.com/mattn/go-sqlite3", "needs cgo"},
	{"github.com/openai/openai-go", "18 MiB, and loses unknown fields; protocols are ours"},
	{"github.com/anthropics/anthropic-sdk-go", "loses unknown fields; protocols are ours"},
	{"google.golang.org/genai", "pulls grpc; protocols are ours"},
	{"google.golang.org/grpc", "10 MiB for one exporter; telemetry leaves as OTLP over HTTP and JSON"},
	{"github.com/pkg/errors", "use errors and %w"},
}

// linkedBans are packages that may not be linked into the binary, not even through another module.
var linkedBans = []string{
	"testing",
	"charm.land/glamour",
	"github.com/alecthomas/chroma/v2/lexers",
	"github.com/alecthomas/chroma/v2/styles",
	"github.com/microcosm-cc/bluemonday",
	"github.com/yuin/goldmark/extension",
	"github.com/santhosh-tekuri/jsonschema",
	"github.com/getkin/kin-openapi",
	"github.com/cockroachdb/apd",
	"github.com/spf13/viper",
	"github.com/mattn/go-sqlite3",
	"github.com/google/go-cmp",
	"google.golang.org/grpc",
	"pgregory.net/rapid",
}

func checkBans(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			for _, imp := range f.Imports {
				if imp == "encoding/json" && strings.HasPrefix(p.Name, "sdk") { // programs have its RawMessage
					continue
				}
				if b, ok := findBan(imp); ok {
					out = append(out, newFinding(f.Path, "imports %s: %s", imp, b.reason))
				}
			}
		}
	}
	return out
}

func findBan(imp string) (ban, bool) {
	for _, b := range bans {
		if imp == "math/rand/v2" || strings.HasPrefix(imp, "log/") {
			continue // these replace what they stand below
		}
		if isWithin(imp, b.path) {
			return b, true
		}
	}
	return ban{}, false
}

// checkLinked looks at everything that the binary links: the output of go list -deps.
func checkLinked(deps []string) []Finding {
	var out []Finding
	for _, dep := range deps {
		for _, b := range linkedBans {
			if isWithin(dep, b) {
				out = append(out,
					newFinding(dep, "is linked into the binary and must not be; go list -deps shows who pulls it, "+
						"docs/adr/0001 says what it costs"))
			}
		}
	}
	return out
}

func isWithin(imp, root string) bool { return imp == root || strings.HasPrefix(imp, root+"/") }
