package cli

import (
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/peer"
)

// openCode is the name under which this program has the habits of OpenCode's own command, where they are not those of
// cairn: what it prints for programs, its exit codes, and what it does without being told.
const openCode = "opencode"

// calledAs is the name of a program, without its folder and Windows' ending.
func calledAs(path string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
}

func (a *app) asOpenCode() bool { return a.Name == openCode }

// version is what a server says of itself and keeps with sessions. Who calls it by OpenCode's name compares it with that
// of OpenCode, whose contract is served.
func (a *app) version() string {
	if a.asOpenCode() {
		return peer.Version
	}
	return version().Version
}

// shownCode is the exit code for whoever called. OpenCode has two; that a permission was denied is no failure there.
func (a *app) shownCode(c exitCode) exitCode {
	switch {
	case !a.asOpenCode() || c == exitInterrupted:
		return c
	case c == exitOK || c == exitDenied:
		return exitOK
	default:
		return exitError
	}
}
