// Package walktest executes the walk of docs/WALK.md: it builds cairn with coverage, runs one prompt, and checks that
// every function of the table ran.
package walktest
