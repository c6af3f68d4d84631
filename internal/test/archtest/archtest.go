// Package archtest checks the repository against its own rules: imports point down, only the engine appends to the log,
// functions and files stay short, and documents refer only to what exists. Names and comments are for readers to judge.
//
// Load parses the sources; it needs neither type information nor the network, so all rules together take about two
// seconds. A rule is a pure function from a Tree to Findings. For every rule testdata/violations has a change that the
// rule must find, so no rule can pass by accident. Exceptions are listed in tables of this package, each with its
// reason.
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
