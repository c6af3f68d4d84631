// Package installation holds the commands about the installed program itself: running it as a service of the user, and
// replacing it by a newer version.
//
// Both work through programs of the system (systemctl, launchctl, dpkg-query, sh), which are looked up in PATH and
// called without a shell. Neither opens the store.
package installation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// Commands are the commands about the installed program.
func Commands(inv *cli.Invocation) []*cobra.Command {
	return []*cobra.Command{serviceCommands{inv}.serviceCommand(), upgradeCommand{inv}.upgradeCommand()}
}

// commandTimeout limits one call of a program of the system.
const commandTimeout = time.Minute

// runProgram runs a program of the system and returns what it printed. The error of a program that fails has the end
// of its output.
func runProgram(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s is not installed: %w", argv[0], exec.ErrNotFound)
	case err != nil && text != "":
		lines := strings.Split(text, "\n")
		return text, fmt.Errorf("%s: %s: %w", strings.Join(argv, " "), terminal.FirstLine(lines[len(lines)-1], 300), err)
	case err != nil:
		return text, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return text, nil
}

// resolveProgram returns the path of this program, with links resolved.
func resolveProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	return program, nil
}

// findProgram returns the path of this program as others should start it. The path in PATH wins over the one that the
// system names, if both are the same file: Homebrew's link stays when a new version comes, its target does not.
func findProgram() (string, error) {
	program, err := resolveProgram()
	if err != nil {
		return "", err
	}
	linked, err := exec.LookPath("cairn")
	if err != nil {
		return program, nil
	}
	if linked, err = filepath.Abs(linked); err != nil {
		return program, nil
	}
	if real, err := filepath.EvalSymlinks(linked); err == nil && real == program {
		return linked, nil
	}
	return program, nil
}

var buildFolder = regexp.MustCompile(`/go-build[0-9]*/`)

// isTemporary reports whether a program is a build of "go run" or in npx's cache, both of which are removed by time.
func isTemporary(program string) bool {
	path := filepath.ToSlash(program)
	return buildFolder.MatchString(path) || strings.Contains(path, "/_npx/")
}

// supportsService reports whether this system has a service manager that cairn knows.
func supportsService() bool { return runtime.GOOS == "linux" || runtime.GOOS == "darwin" }
