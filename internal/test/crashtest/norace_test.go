//go:build unix && !race

package crashtest

const raceEnabled = false
