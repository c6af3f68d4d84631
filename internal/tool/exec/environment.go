package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

// passedVariables are the variables that commands always get. This is a list of what is passed, not of what is
// withheld, because a secret can have any name.
var passedVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"}

// Environment returns the environment of commands: the variables that always pass, those that the configuration names,
// and those that it sets. Variables of cairn and OpenCode (CAIRN_, OPENCODE_) and denied ones never pass.
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
	addGitSettings(env)
	out := make([]string, 0, len(env))
	for name, value := range env {
		if !c.isSecret(name) {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// addGitSettings makes git of commands run nothing that a folder of a repository sets: a bare repository inside of
// another is not used unless it is named, and no program watches the files. Settings of the environment stay.
func addGitSettings(env map[string]string) {
	count, err := strconv.Atoi(env["GIT_CONFIG_COUNT"])
	if err != nil || count < 0 {
		count = 0
	}
	for _, kv := range [][2]string{{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"}} {
		n := strconv.Itoa(count)
		env["GIT_CONFIG_KEY_"+n], env["GIT_CONFIG_VALUE_"+n] = kv[0], kv[1]
		count++
	}
	env["GIT_CONFIG_COUNT"] = strconv.Itoa(count)
}

func (c Config) isSecret(name string) bool {
	return strings.HasPrefix(name, "CAIRN_") || strings.HasPrefix(name, "OPENCODE_") || slices.Contains(c.Deny, name)
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
