package cli

import (
	"path/filepath"
	"strings"
)

// OpenCode is the program name under which other programs start cairn in place of OpenCode's command. Under it the
// commands that programs start (serve, run, session list, export, models) print OpenCode's output and exit codes.
const OpenCode = "opencode"

// OpenCodeVersion is the OpenCode release whose contract is served.
const OpenCodeVersion = "1.18.33"

// ProgramName returns the name of a program without its folder and without the suffix of Windows.
func ProgramName(path string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
}

func (a *Invocation) IsOpenCode() bool { return a.Name == OpenCode }

// ServerVersion is the version that a server reports and stores with its sessions. Programs that start the command as
// OpenCode compare it with OpenCode's.
func (a *Invocation) ServerVersion() string {
	if a.IsOpenCode() {
		return OpenCodeVersion
	}
	return ReadBuildInfo().Version
}

// ProcessExitCode is the exit code of the process. OpenCode has two codes, and a denied permission is no failure there.
func (a *Invocation) ProcessExitCode(c ExitCode) ExitCode {
	switch {
	case !a.IsOpenCode() || c == ExitInterrupted:
		return c
	case c == ExitOK || c == ExitDenied:
		return ExitOK
	default:
		return ExitFailure
	}
}
