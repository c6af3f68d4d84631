package archtest

import (
	"path"
	"slices"
	"strings"
)

// drivers lists the packages that host chooses among: stores, protocols with the vendors that speak them, and tools.
const drivers = `
	record/store/sqlstore record/store/sqlite
	llm/anthropic llm/openairesponses llm/openaichat llm/gemini llm/bedrock llm/provider llm/guide llm/replay
	location/snapshot
	tool/file tool/search tool/exec tool/dialog tool/web tool/task tool/plan tool/sessionsearch`

// driverUsers lists which packages besides host import drivers, each with its reason.
var driverUsers = map[string]string{
	"models": "it connects a provider's row with the credentials and settings of the user",
}

func isDriver(name string) bool { return slices.Contains(strings.Fields(drivers), name) }

// checkDrivers is law 2: a driver is imported by host, and by the drivers beside it. No other package can know which
// one is used. Tests may wire a real driver instead of a mock.
func checkDrivers(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.Name == "host" || isIn(p.Name, testLayer) || driverUsers[p.Name] != "" {
			continue
		}
		imports := t.importEdges(p, false)
		if file := imports["host"]; file != "" && p.Name != "main" && p.Name != "sdk/embed" { // which is the main of other programs
			out = append(out, newFinding(file, "%s imports host; main joins a host with the commands: take an interface",
				p.Name))
		}
		for _, to := range sortedKeys(imports) {
			beside := isDriver(p.Name) && path.Dir(p.Name) == path.Dir(to)
			if isDriver(to) && !beside {
				out = append(out, newFinding(imports[to], "%s imports the driver %s; only host may: take an interface "+
					"and let host pass the driver in", p.Name, to))
			}
		}
	}
	return out
}
