package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// passedVariables are the variables that programs always get. This is a list of what is passed, not of what is
// withheld, because a secret can have any name.
var passedVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"}

// Environment says which variables of this process a program gets.
type Environment struct {
	Pass []string // names that pass besides the usual ones
	Set  []string // NAME=value, added
	Deny []string // names that never pass, e.g. those of provider keys
}

// List returns NAME=value of each variable, sorted. Variables of cairn and OpenCode (CAIRN_, OPENCODE_) and denied ones
// are not among them.
func (e Environment) List() []string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(passedVariables, name) || strings.HasPrefix(name, "LC_") || slices.Contains(e.Pass, name) {
			env[name] = value
		}
	}
	for _, kv := range e.Set {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	addGitSettings(env)
	out := make([]string, 0, len(env))
	for name, value := range env {
		if !e.isDenied(name) {
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

func (e Environment) isDenied(name string) bool {
	return strings.HasPrefix(name, "CAIRN_") || strings.HasPrefix(name, "OPENCODE_") || slices.Contains(e.Deny, name)
}
