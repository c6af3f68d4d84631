package exec

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// gitCall is a command of git.
type gitCall struct {
	name string
	args []string // behind the name
	dir  string   // of -C, "" for none
}

// readGitCall returns the command of git without the options before its name. ok is false if the name is missing or is
// known only when the command runs.
func readGitCall(c shell.Command) (call gitCall, ok bool) {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = w.Text
	}
	for i := 1; i < len(words); i++ {
		switch {
		case words[i] == "-C" && i+1 < len(words):
			call.dir = filepath.Join(call.dir, words[i+1])
			i++
		case words[i] == "-c" || words[i] == "--git-dir" || words[i] == "--work-tree":
			i++
		case !strings.HasPrefix(words[i], "-"):
			call.name, call.args = words[i], words[i+1:]
			return call, c.Words[i].Literal
		}
	}
	return call, false
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
	follows := func(word string) bool { // a new branch follows a branch of a remote from which it starts
		remote, _, below := strings.Cut(word, "/")
		return below && !g.hasOption("--no-track") && strings.Contains(settings, `[remote "`+remote+`"]`)
	}
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

// nameResource returns the text that permission rules match for a path. repository is Config.Repository.
func nameResource(paths workpath.Resolver, repository, path string) string {
	if rel, ok := workpath.RelativeTo(repository, path); ok && repository != "" {
		return filepath.ToSlash(filepath.Join(".git", rel))
	}
	if found, err := paths.Resolve(path); err == nil {
		return found.Resource()
	}
	return path
}

// nameLexically is nameResource for a path without symbolic links.
func nameLexically(paths workpath.Resolver, repository, path string) string {
	for i, dir := range []string{repository, paths.Worktree, paths.Directory} {
		rel, ok := workpath.RelativeTo(dir, path)
		if !ok || dir == "" || dir == filepath.Dir(dir) {
			continue
		}
		if i == 0 {
			rel = filepath.Join(".git", rel)
		}
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
