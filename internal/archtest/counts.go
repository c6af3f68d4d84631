package archtest

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// countsFile holds the accepted count of every counted rule: "rule | key | count" per line. A key that is not listed
// has the limit 0. The counts may only fall: TestHouse fails above a limit and also below it, so that an improvement
// is recorded (go test ./internal/archtest -update) and cannot be lost again.
const countsFile = "internal/archtest/counts.txt"

// countedRule is a rule that existing code may break a limited number of times. Occurrences are grouped by key, which
// is a package or a word.
type countedRule struct {
	name   string
	advice string
	list   func(*Tree) map[string][]Finding
}

// countedRules returns the rules whose counts are limited by countsFile.
func countedRules() []countedRule {
	return []countedRule{
		{"plain words", "rewrite the sentence with its real subject", listPrivateWords},
		{"indirect comments", "say what the function returns or does, or what the type holds", listIndirectComments},
		{"function names", "name functions verb + noun, or add a well-known verb to knownVerbs", listOneWordFunctions},
		{"shared type names", "give at least one of the types a more exact name", listSharedTypeNames},
		{"line length", "wrap the line", listLongLines},
		{"file cycles", "move what the lower file needs into the lower file", listFileCycles},
	}
}

// checkCounts compares the tree's counts with countsFile.
func checkCounts(t *Tree) []Finding {
	limits, err := readCounts(t.FS)
	if err != nil {
		return []Finding{newFinding(countsFile, "%v", err)}
	}
	var out []Finding
	for _, rule := range countedRules() {
		got := rule.list(t)
		for _, key := range sortedKeys(got) {
			limit := limits[countKey{rule.name, key}]
			if n := len(got[key]); n > limit {
				out = append(out, newFinding(got[key][n-1].At, "%s of %q: %d, limit %d: %s (%s; list all: "+
					"go test ./internal/archtest -run TestHouse -args -show=%q)",
					rule.name, key, n, limit, rule.advice, got[key][n-1].Text, rule.name+"/"+key))
			}
		}
		for _, key := range sortedCountKeys(limits) {
			if n := len(got[key.key]); key.rule == rule.name && n < limits[key] {
				out = append(out, newFinding(countsFile, "%s of %q fell from %d to %d: record it with "+
					"go test ./internal/archtest -update", rule.name, key.key, limits[key], n))
			}
		}
	}
	return out
}

// countKey names one limit of countsFile.
type countKey struct{ rule, key string }

func sortedCountKeys(limits map[countKey]int) []countKey {
	names := map[string]countKey{}
	for k := range limits {
		names[k.rule+"|"+k.key] = k
	}
	var out []countKey
	for _, name := range sortedKeys(names) {
		out = append(out, names[name])
	}
	return out
}

// readCounts parses countsFile. A module without the file has no limits above 0.
func readCounts(fsys fs.FS) (map[countKey]int, error) {
	limits := map[countKey]int{}
	src, err := fs.ReadFile(fsys, countsFile)
	if err != nil {
		return limits, nil //nolint:nilerr // no file means limit 0 everywhere
	}
	for line := range strings.Lines(string(src)) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		if len(fields) != 3 {
			return nil, fmt.Errorf("invalid line %q: want rule | key | count", strings.TrimSpace(line))
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("invalid count in line %q", strings.TrimSpace(line))
		}
		limits[countKey{fields[0], fields[1]}] = n
	}
	return limits, nil
}

// formatCounts returns the tree's counts in the form of countsFile.
func formatCounts(t *Tree) string {
	var b strings.Builder
	for _, rule := range countedRules() {
		got := rule.list(t)
		for _, key := range sortedKeys(got) {
			if n := len(got[key]); n > 0 {
				fmt.Fprintf(&b, "%s | %s | %d\n", rule.name, key, n)
			}
		}
	}
	return b.String()
}
