//go:build !race

package root_test

const raceEnabled = false
