// Package archtest holds the house to its own laws: imports point down, doors stay where they are, words keep one
// meaning, tails stay short, and the documents are true.
//
// It parses the sources and never loads types or the network, so the whole exam takes about a second. Every rule is
// a pure function from a Tree to Findings, and for every rule there is a planted violation that it must find
// (planted_test.go): a rule that cannot fail is no rule. Exceptions stand in the tables of this package, each with
// its reason; a reason that no longer applies is itself a finding where that can be told.
//
// Nothing imports this package.
package archtest

import "fmt"

// Finding is one broken rule: where, what, and what to do about it.
type Finding struct {
	At   string // a package, a file or file:line
	Text string
}

// String returns the finding on one line.
func (f Finding) String() string { return f.At + ": " + f.Text }

// Rule is one law and the function that checks it.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules returns every rule of the house, in the order in which a reader would want to hear about them.
func Rules() []Rule {
	return []Rule{
		{"floors", checkFloors},
		{"drivers", checkDrivers},
		{"views", checkViews},
		{"append", checkAppend},
		{"below the loop", checkBelowLoop},
		{"words", checkWords},
		{"proofs", checkProofs},
		{"bans", checkBans},
		{"package names", checkPackageNames},
		{"package docs", checkPackageDocs},
		{"verbs", checkVerbs},
		{"sizes", checkSizes},
		{"shapes", checkShapes},
		{"walk", checkWalk},
		{"links", checkLinks},
		{"papers", checkPapers},
	}
}

func found(at, format string, args ...any) Finding {
	return Finding{At: at, Text: fmt.Sprintf(format, args...)}
}
