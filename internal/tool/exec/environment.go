package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Environment returns the environment of commands: the variables that always pass, those that the configuration names,
// and those that it sets.
func (c Config) Environment() []string {
	return process.Environment{Pass: c.Pass, Set: c.Env, Deny: c.Deny}.List()
}

// ShellPath returns the path of the shell: the configured one, else bash, whose language permission rules are applied
// to, else sh. The error is for the model.
func (c Config) ShellPath() (string, error) {
	if c.Shell != "" {
		path, err := exec.LookPath(c.Shell)
		if err != nil {
			return "", tool.Failf("The configured shell %q cannot be found, so no command can be run.", c.Shell)
		}
		return path, nil
	}
	usual := []string{"/bin/bash", "bash", "/bin/sh", "sh"}
	if own := os.Getenv("SHELL"); strings.TrimSuffix(filepath.Base(own), ".exe") == "bash" {
		usual = append([]string{own}, usual...)
	}
	for _, name := range usual {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", tool.Failf("There is no shell on this machine, so no command can be run.")
}
