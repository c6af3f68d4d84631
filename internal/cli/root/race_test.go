//go:build race

package root_test

// raceEnabled: everything takes several times as long, so there is less of it.
const raceEnabled = true
