package archtest

import (
	"path"
	"slices"
	"strings"
)

// room is a set of packages: those in the folders, and below them.
type room struct{ name, folders string }

// testRoom holds what only tests import. It may import everything.
const testRoom = "test"

// rooms lists the folders below internal/ from bottom to top. A package imports packages of its own room and of rooms
// below it. The most exact folder decides: store/storetest is of the test room, though store is of record.
var rooms = []room{
	{"leaves", "checkout fault fileattr frontmatter linediff proctable spelling statefile"},
	{"session", "session"},
	{"llm", "llm"},
	{"systemcontext", "systemcontext"},
	{"access", "permission shell sandbox trust caller accesstoken auth keyring audit"},
	{"record", "store eventlog projection check"},
	{"tool", "tool"},
	{"engine", "engine"},
	{"location", "project config agent command skill instruction snapshot pty webcache reach"},
	{"models", "models catalog wellknown"},
	{"opencode", "opencode"},
	{"client", "api"},
	{"transfer", "transfer"},
	{"server", "server"},
	{"faces", "cli tui"},
	{"host", "host"},
	{"main", "main"},
	{testRoom, "archtest crashtest store/storetest llm/llmtest server/contracttest tool/tooltest sandbox/sandboxtest ./bench"},
}

// findRoom returns the position of the package's room in rooms, -1 without one.
func findRoom(name string) int {
	for folder := name; folder != "." && folder != "/"; folder = path.Dir(folder) {
		for i, r := range rooms {
			if slices.Contains(strings.Fields(r.folders), folder) {
				return i
			}
		}
	}
	return -1
}

// isIn reports whether the package is of the named room.
func isIn(name, room string) bool {
	i := findRoom(name)
	return i >= 0 && rooms[i].name == room
}

// checkOrder is law 1: imports point down. A test looks at its own room, at those below, at drivers, and at what is for
// tests; a test of what clients use may start a host.
func checkOrder(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.isTestOnly() {
			continue
		}
		from := findRoom(p.Name)
		if from < 0 {
			out = append(out, newFinding(p.Name, "is in no room; list its folder in rooms (internal/archtest/order.go)"))
			continue
		}
		for _, inTest := range []bool{false, true} {
			imports := t.importEdges(p, inTest)
			for _, to := range sortedKeys(imports) {
				at := findRoom(to)
				if at <= from || inTest && mayTestImport(p.Name, to) { // -1 is reported where that package stands
					continue
				}
				out = append(out, newFinding(imports[to],
					"%s (%s) imports %s (%s): imports point down; declare the one or two methods you need as an interface "+
						"where you stand", p.Name, rooms[from].name, to, rooms[at].name))
			}
		}
	}
	return out
}

// mayTestImport reports whether a test of the package from may import a package of a room above it.
func mayTestImport(from, to string) bool {
	servesClients := findRoom(from) > findRoom("opencode")
	return isIn(to, testRoom) || isDriver(to) || servesClients && (to == "host" || to == "cli") // cli has host's options
}
