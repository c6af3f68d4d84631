package linepath

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/shell"
)

// gitCall is a command of git.
type gitCall struct {
	name string
	args []string // behind the name
	dir  string   // of -C, "" for none
}

// readGitCall returns the command of git without the options before its name. ok is false for another program.
func readGitCall(c shell.Command) (call gitCall, ok bool) {
	if filepath.Base(c.Words[0].Text) != "git" {
		return call, false
	}
	for i := 1; i < len(c.Words); i++ {
		switch word := c.Words[i].Text; {
		case word == "-C" && i+1 < len(c.Words):
			i++
			call.dir = joinPath(call.dir, c.Words[i].Text)
		case word == "-c" || word == "--git-dir" || word == "--work-tree":
			i++
		case !strings.HasPrefix(word, "-"):
			call.name = word
			for _, w := range c.Words[i+1:] {
				call.args = append(call.args, w.Text)
			}
			return call, true
		}
	}
	return call, true
}

// hookInstallers are the beginnings of commands that write hooks of git.
var hookInstallers = []string{
	"pre-commit install", "lefthook install", "husky", "npx husky", "npx lefthook install", "overcommit --install",
	"git-lfs install", "simple-git-hooks", "npx simple-git-hooks",
}

// installsHooks reports whether the command writes hooks of git.
func installsHooks(c shell.Command) bool {
	return slices.ContainsFunc(hookInstallers, func(prefix string) bool { return permission.Match(prefix+" *", c.Text) })
}

// listOperands returns the arguments that are no options. A value of an option counts as well.
func (g gitCall) listOperands() []string {
	return slices.DeleteFunc(slices.Clone(g.args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
}

// hasOption reports whether one of the options is given: a letter, also among others, or a word of which git accepts
// the beginning.
func (g gitCall) hasOption(options ...string) bool {
	return slices.ContainsFunc(g.args, func(arg string) bool {
		arg, _, _ = strings.Cut(arg, "=")
		return slices.ContainsFunc(options, func(o string) bool {
			if len(o) == 1 {
				return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg[1:], o)
			}
			return len(arg) > 4 && strings.HasPrefix(o, arg)
		})
	})
}

// gitWriters are the commands of git whose first operand says that they change its settings.
var gitWriters = map[string]string{
	"remote":          " add rename remove rm set-url set-branches ",
	"submodule":       " add init deinit sync set-url set-branch absorbgitdirs ",
	"sparse-checkout": " init set add disable ",
}

// writesSettings reports whether the command changes the settings of the repository whose settings are text: the
// remotes, and which branch follows which. Deleting a branch also changes them, but succeeds if they are read-only.
func (g gitCall) writesSettings(settings string) bool {
	operands := g.listOperands()
	first := append(operands, "")[0]
	// Branches that follow a remote one are entries in the settings.
	follows := func(word string) bool { // a new branch follows a branch of a remote from which it starts
		remote, _, below := strings.Cut(word, "/")
		return below && !g.hasOption("--no-track") && strings.Contains(settings, `[remote "`+remote+`"]`)
	}
	// Commands whose effect depends on options or operands come first; the others are in gitWriters.
	switch g.name {
	case "config":
		return len(g.args) > 1 && !slices.ContainsFunc(g.args, func(arg string) bool {
			return arg == "get" || arg == "list" || arg == "-l" || arg == "--list" || strings.HasPrefix(arg, "--get")
		})
	case "push":
		return g.hasOption("u", "--set-upstream")
	case "fetch", "pull":
		return g.hasOption("--set-upstream")
	case "branch":
		return len(operands) > 1 && follows(operands[1]) || g.hasOption("u", "m", "M", "c", "C", "t", "--set-upstream-to",
			"--unset-upstream", "--edit-description", "--move", "--copy", "--track")
	case "checkout", "switch":
		creates := g.hasOption("b", "B", "c", "C", "--create", "--force-create")
		return g.hasOption("t", "--track") || creates && slices.ContainsFunc(operands, follows)
	case "worktree":
		return first == "add" && slices.ContainsFunc(operands, follows)
	case "init":
		return first == "" && settings != ""
	case "submodule":
		return strings.Contains(gitWriters[g.name], " "+first+" ") || first == "update" && g.hasOption("--init")
	}
	return strings.Contains(gitWriters[g.name], " "+first+" ") && first != ""
}
