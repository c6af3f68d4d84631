// Package archtest checks the repository against its own rules: imports point down, packages and types stay small,
// names and comments use plain words, and documents refer only to what exists.
//
// Load parses the sources; it needs neither type information nor the network, so all rules together take about two
// seconds. A rule is a pure function from a Tree to Findings. For every rule testdata/violations has a change that the
// rule must find, so no rule can pass by accident. Exceptions are listed in tables of this package, each with its
// reason, and an exception that is no longer needed is a finding, too. Rules that existing code still breaks have
// limits in counts.txt that may only fall.
//
// No package imports this one.
package archtest

import "fmt"

// Finding is one broken rule: where, what, and what to do about it.
type Finding struct {
	At   string // a package, a file or file:line
	Text string
}

// String returns the finding on one line.
func (f Finding) String() string { return f.At + ": " + f.Text }

func newFinding(at, format string, args ...any) Finding {
	return Finding{At: at, Text: fmt.Sprintf(format, args...)}
}
