//go:build unix && race

package crashtest

// raceEnabled: a start takes ten times as long, so there are fewer.
const raceEnabled = true
