package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// inert are settings of git that run nothing.
var inert = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(user\.(name|email)|color\.[a-z.]+|core\.(quotepath|abbrev|autocrlf|ignorecase)|advice\.[a-z]+|init\.defaultbranch|commit\.gpgsign|log\.[a-z]+)=`,
	)
})

// git reads git with options before its command. A setting may hold a command.
func (r *reader) git(c call) {
	i := 1
	for ; i < len(c.words) && (strings.HasPrefix(c.words[i], "-") || strings.HasPrefix(c.words[i], Hole)); i++ {
		switch w := c.words[i]; {
		case w == "-c" && i+1 < len(c.words):
			i++
			r.setting(c, c.words[i])
		case w == "-C":
			r.directories(c, c.words[i:], "-C")
			i++
		case w == "--git-dir": // and its configuration with it
			r.unknown()
			i++
		case w == "--work-tree" || w == "--namespace":
			i++
		case strings.HasPrefix(w, "--work-tree="), strings.HasPrefix(w, "--namespace="),
			w == "-P", w == "--no-pager", w == "--bare", w == "--version", w == "--help", w == "--no-optional-locks", w == "--literal-pathspecs":
		default:
			r.unknown()
		}
	}
	if r.settingsElsewhere(c) {
		r.unknown()
	}
	rest := c.words[min(i, len(c.words)):]
	if len(rest) > 0 &&
		(!known(rest[0]) || runners[rest[0]] || executes("git", rest) || !plainGit[rest[0]] && c.mayGive("git", rest) ||
			configures(rest) || transports(rest)) {
		r.unknown()
	}
	if len(rest) > 1 && rest[0] == "config" && sets(rest[1:]) {
		r.change(c, configFile(rest[1:]))
	}
	r.itself(c, strings.Join(append([]string{"git"}, rest...), " "))
}

// settingsElsewhere reports that git finds its settings where a variable of the text says.
func (r *reader) settingsElsewhere(c call) bool {
	return slices.ContainsFunc([]string{"HOME", "XDG_CONFIG_HOME"}, func(name string) bool {
		return slices.ContainsFunc(c.assigns, func(a string) bool { return strings.HasPrefix(a, name+"=") }) ||
			r.around != nil && len(r.around.words[name]) > 0
	})
}

// sets reports that git config may change something.
func sets(args []string) bool {
	plain := 0
	for _, a := range args {
		switch {
		case a == "list", a == "get", a == "--list", a == "-l", strings.HasPrefix(a, "--get"):
			return false
		case !strings.HasPrefix(a, "-"):
			plain++
		case !known(a), a == "-e", a == "--edit", strings.HasPrefix(a, "--unset"), strings.HasPrefix(a, "--re"):
			return true
		}
	}
	return plain > 1
}

// configFile is the file that git config changes.
func configFile(args []string) string {
	for i, a := range args {
		switch {
		case a == "--global":
			return "~/.gitconfig"
		case a == "--system":
			return "/etc/gitconfig"
		case (a == "-f" || a == "--file") && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(a, "--file="):
			return strings.TrimPrefix(a, "--file=")
		}
	}
	return ".git/config"
}

// configures reports that git config sets something that may be run, or opens an editor.
func configures(rest []string) bool {
	if rest[0] != "config" {
		return false
	}
	return slices.ContainsFunc(rest[1:], func(w string) bool {
		key := strings.ToLower(w)
		return !known(w) || w == "-e" || w == "--edit" || w == "edit" ||
			strings.Contains(key, ".") && !strings.HasPrefix(w, "-") && !inert().MatchString(key+"=")
	}) &&
		!slices.ContainsFunc(
			rest[1:], func(w string) bool { return w == "--get" || w == "get" || w == "--get-all" || w == "--get-regexp" },
		)
}

// transports reports that git is given an address whose transport is a command.
func transports(rest []string) bool {
	return slices.ContainsFunc(
		rest, func(w string) bool { return strings.HasPrefix(w, "ext::") || strings.HasPrefix(w, "fd::") },
	)
}

func (r *reader) setting(c call, s string) {
	key, value, _ := strings.Cut(s, "=")
	switch {
	case strings.HasPrefix(strings.ToLower(key), "alias.") && strings.HasPrefix(value, "!") && known(s):
		r.inner(c, value[1:])
	case !known(key) || !inert().MatchString(strings.ToLower(key)+"="):
		r.unknown()
	}
}
