package archtest

import (
	"path"
	"slices"
	"strings"
)

// layer is a set of packages: those in the folders, and below them.
type layer struct{ name, folders string }

// testLayer holds what only tests import. It may import everything.
const testLayer = "test"

// layers lists the folders below internal/, and those of the public library, from bottom to top. A package imports packages of its own layer and of
// layers below it. The longest matching folder decides.
var layers = []layer{
	{"leaves", "checkout connlimit cutrune fault fileattr fileuri finding frontmatter linediff netaddr proctable spelling statefile telemetry terminal"},
	{"session", "session"},
	{"llm", "llm"},
	{"systemcontext", "systemcontext"},
	{"access", "access"},
	{"record", "record"},
	{"extension", "extension"},
	{"tool", "tool"},
	{"engine", "engine"},
	{"location", "location"},
	{"models", "models"},
	{"opencode", "opencode"},
	{"client", "client"},
	{"sdk", "sdk"},
	{"transfer", "transfer"},
	{"server", "server"},
	{"host", "host"},
	{"embed", "sdk/embed"},
	{"acp", "acp"},
	{"cairntest", "sdk/cairntest"},
	{"tui", "tui"},
	{"cli", "cli"},
	{"main", "main"},
	{testLayer, "test"},
}

// findLayer returns the position of the package's layer in layers, -1 without one.
func findLayer(name string) int {
	for folder := name; folder != "." && folder != "/"; folder = path.Dir(folder) {
		for i, l := range layers {
			if slices.Contains(strings.Fields(l.folders), folder) {
				return i
			}
		}
	}
	return -1
}

// isIn reports whether the package is in the named layer.
func isIn(name, layer string) bool {
	i := findLayer(name)
	return i >= 0 && layers[i].name == layer
}

// checkOrder is law 1: imports point down. The exceptions for tests are those of mayTestImport.
func checkOrder(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.isTestOnly() {
			continue
		}
		from := findLayer(p.Name)
		if from < 0 {
			out = append(out, newFinding(p.Name, "is in no layer; list its folder in layers (internal/test/archtest/order.go)"))
			continue
		}
		for _, inTest := range []bool{false, true} {
			imports := t.importEdges(p, inTest)
			for _, to := range sortedKeys(imports) {
				at := findLayer(to)
				if at <= from || inTest && mayTestImport(p.Name, to) { // a package without a layer is its own finding
					continue
				}
				out = append(out, newFinding(imports[to],
					"%s (%s) imports %s (%s): imports point down; declare the one or two methods you need as an interface "+
						"where you stand", p.Name, layers[from].name, to, layers[at].name))
			}
		}
	}
	return out
}

// mayTestImport reports whether a test of the package from may import a package of a layer above it: a driver, what
// only tests import, for packages that serve clients a host, for host the commands that open it, and for those of the
// public library each other, as examples need them.
func mayTestImport(from, to string) bool {
	servesClients := findLayer(from) > findLayer("opencode")
	isLibrary := strings.HasPrefix(from, "sdk") && strings.HasPrefix(to, "sdk")
	return isLibrary || isIn(to, testLayer) || isDriver(to) || servesClients && to == "host" || from == "host" && isIn(to, "cli")
}
