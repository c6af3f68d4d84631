//go:build race

package engine

// raceEnabled: everything takes several times as long, so there is less of it.
const raceEnabled = true
