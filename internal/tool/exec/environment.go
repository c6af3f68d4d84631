package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

// passed are the variables that commands always get. It is a list of what is let through, not of what is held back:
// keys and tokens have any name (spec/guarantees S6).
var passedVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"}

// Environment returns what commands get: the variables that always pass, those that the configuration names, and
// those that it sets. Names of our own (CAIRN_, OPENCODE_) and denied ones never pass.
func (c Config) Environment() []string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(passedVariables, name) || strings.HasPrefix(name, "LC_") || slices.Contains(c.Pass, name) {
			env[name] = value
		}
	}
	for _, kv := range c.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		if !c.isSecret(name) {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

func (c Config) isSecret(name string) bool {
	return strings.HasPrefix(name, "CAIRN_") || strings.HasPrefix(name, "OPENCODE_") || slices.Contains(c.Deny, name)
}

// ShellPath returns the path of the shell to use: the configured one, else bash, in whose language commands are written
// and read, else sh. The error is written for a model.
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
