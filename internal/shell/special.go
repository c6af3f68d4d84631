package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// special reads a command that runs what stands in its arguments. False: there is nothing special about that name.
func (r *reader) special(c call) bool {
	switch c.name() {
	case "sh", "bash", "dash", "ash", "rbash":
		r.shell(c)
	case "eval":
		r.inner(c, strings.Join(operands(c.words[1:]), " "))
	case "trap":
		r.trap(c)
	case "alias":
		r.alias(c)
	case "find":
		r.find(c)
	case "git":
		r.git(c)
	case "awk", "gawk", "mawk", "nawk":
		r.awk(c)
	case "sed", "gsed":
		r.sed(c)
	case "source", ".":
		if file := operands(c.words[1:]); len(file) > 0 && streams(file[0]) {
			r.unknownScript()
		}
		r.itself(c)
	case "shopt": // patterns may mean more than they say
		r.loose = true
		r.itself(c)
	case "set", "history":
		r.remembering(c)
	case "declare", "typeset", "local", "readonly", "export":
		r.declaration(c)
	case "tee":
		r.tee(c)
	case "read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "test", "[", "let", "compgen", "complete", "hash", "enable":
		r.variables(c)
	default:
		return r.runner(c) || r.interpreter(c)
	}
	return true
}

// operands are the arguments behind a leading --.
func operands(args []string) []string {
	if len(args) > 0 && args[0] == "--" {
		return args[1:]
	}
	return args
}

// streams reports that what is read from the path is, or may be, no file but what another command writes.
func streams(path string) bool {
	return !known(path) || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// remembering reads set and history: a shell that keeps a history runs what stands in it for !! and its like.
func (r *reader) remembering(c call) {
	for i, w := range c.words[1:] {
		if c.name() == "history" || !known(w) || w == "history" || w == "histexpand" || w == "keyword" || i == 0 && strings.HasPrefix(w, "-") && strings.ContainsAny(w, "Hk") {
			r.unknown()
			break
		}
	}
	r.itself(c)
}

// shell reads sh and its like: -c with a script, a script file, or standard input.
func (r *reader) shell(c call) {
	script := false
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case script && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "+"):
			r.inner(c, w)
			return
		case script && w == "--":
			continue
		case !known(w), strings.HasPrefix(w, "--"), strings.HasPrefix(w, "+"), strings.Trim(w, "-ceuxvnfl") != "" && w[0] == '-', w == "-":
			r.unknownScript()
			r.itself(c)
			return
		case strings.HasPrefix(w, "-"):
			script = script || strings.Contains(w, "c")
		default: // a file
			if streams(w) {
				r.unknownScript()
			}
			r.paths(c, "source", c.words[i:])
			r.itself(c)
			return
		}
	}
	r.unknownScript() // standard input
	r.itself(c)
}

func (r *reader) trap(c call) {
	if len(c.words) < 2 || c.words[1] == "-" || c.words[1] == "-p" || c.words[1] == "-l" || c.words[1] == "" {
		r.itself(c)
		return
	}
	i := 1
	if c.words[1] == "--" && len(c.words) > 2 {
		i = 2
	}
	r.inner(c, c.words[i])
}

func (r *reader) alias(c call) {
	r.itself(c)
	for _, w := range c.words[1:] {
		if _, value, ok := strings.Cut(w, "="); ok {
			r.inner(c, value)
		} else if !known(w) {
			r.unknown()
		}
	}
}

// find reads find: what -exec and its like run, with a hole for the names; -delete removes as rm does.
func (r *reader) find(c call) {
	r.itself(c)
	for i := 1; i < len(c.words); i++ {
		switch w := c.words[i]; {
		case w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir":
			end := i + 1
			for end < len(c.words) && c.words[end] != ";" && !(c.words[end] == "+" && c.words[end-1] == "{}") {
				end++
			}
			r.spliced = true
			r.lost = r.lost || strings.HasSuffix(w, "dir")
			inner := call{words: replaceAll(c.words[i+1:end], "{}"), readings: c.readings, several: c.several, patterns: c.patterns}
			inner.free = append(slices.Clone(c.free), unknownOf(inner.words)...)
			if len(inner.words) == 0 {
				r.unknown()
				return
			}
			if use := useOf(base(inner.words[0]), inner.words[1:]); use != File && use != Named {
				for _, root := range roots(c.words[1:]) {
					r.below(Path{Name: root, Only: foundNames(c.words[1:i]), Maybe: i > len(roots(c.words[1:]))+1})
				}
			}
			r.call(inner)
			i = end
		case w == "-delete":
			r.part(Part{Text: "rm " + Hole, Readings: []string{strings.Join(c.words, " ")}})
			for _, root := range roots(c.words[1:]) {
				r.change(c, root)
			}
		case strings.HasPrefix(w, "-f") && (strings.HasPrefix(w, "-fprint") || w == "-fls"):
			r.unknown()
			i++
		case strings.HasPrefix(w, Hole), strings.HasPrefix(w, "-") && !known(w): // may be any of these
			r.unknown()
		}
	}
}

// roots are where find looks.
func roots(args []string) []string {
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P") {
		args = args[1:]
	}
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" }); i >= 0 {
		args = args[:i]
	}
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}

// inert are settings of git that run nothing.
var inert = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(user\.(name|email)|color\.[a-z.]+|core\.(quotepath|abbrev|autocrlf|ignorecase)|advice\.[a-z]+|init\.defaultbranch|commit\.gpgsign|log\.[a-z]+)=`)
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
	if len(rest) > 0 && (!known(rest[0]) || runners[rest[0]] || executes("git", rest) || !plainGit[rest[0]] && c.mayGive("git", rest) || configures(rest) || transports(rest)) {
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
		return slices.ContainsFunc(c.assigns, func(a string) bool { return strings.HasPrefix(a, name+"=") }) || r.around != nil && len(r.around.words[name]) > 0
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
		return !known(w) || w == "-e" || w == "--edit" || w == "edit" || strings.Contains(key, ".") && !strings.HasPrefix(w, "-") && !inert().MatchString(key+"=")
	}) && !slices.ContainsFunc(rest[1:], func(w string) bool { return w == "--get" || w == "get" || w == "--get-all" || w == "--get-regexp" })
}

// transports reports that git is given an address whose transport is a command.
func transports(rest []string) bool {
	return slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "ext::") || strings.HasPrefix(w, "fd::") })
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

// awk reads awk: a program that can run commands or write files may do anything.
func (r *reader) awk(c call) {
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w == "-F" || w == "-v":
			i++
			continue
		case w == "--", strings.HasPrefix(w, "-F"), strings.HasPrefix(w, "-v"):
			continue
		case strings.HasPrefix(w, "-"):
			r.unknown()
		default:
			program := strings.ReplaceAll(w, "||", "")
			if !known(w) || strings.Contains(program, "system") || strings.ContainsAny(program, "|@") || strings.Contains(program, "getline") || strings.Contains(program, "ARGV") ||
				strings.Contains(program, "print") && strings.Contains(program, ">") {
				r.unknown()
			}
		}
		break
	}
	r.itself(c)
}

var (
	sedPlain      = regexp.MustCompile(`^((\d+|\$|/[^/;{}]*/)(,(\d+|\$|/[^/;{}]*/|\+\d+))?)?!?[pdqDPhHgGxnN=]?$`)
	sedSubstitute = regexp.MustCompile(`^((\d+|\$)(,(\d+|\$))?)?s(.)`)
)

// sed reads sed: a script may run commands and write files.
func (r *reader) sed(c call) {
	scripts, plain := []string{}, []string{}
	for i := 1; i < len(c.words); i++ {
		switch w := c.words[i]; {
		case w == "-e" || w == "--expression":
			if i++; i < len(c.words) {
				scripts = append(scripts, c.words[i])
			}
		case strings.HasPrefix(w, "--expression="):
			scripts = append(scripts, strings.TrimPrefix(w, "--expression="))
		case w == "--in-place" || w == "--quiet" || w == "--silent" || w == "--regexp-extended" || w == "--" || strings.HasPrefix(w, "-i"):
		case strings.HasPrefix(w, "-") && strings.Trim(w, "-nErsuz") == "":
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, Hole):
			r.unknown()
		default:
			plain = append(plain, w)
		}
	}
	if len(scripts) == 0 && len(plain) > 0 {
		scripts = plain[:1]
	}
	for _, s := range scripts {
		if !sedHarmless(s) {
			r.unknown()
		}
	}
	r.itself(c)
}

func sedHarmless(script string) bool {
	if !known(script) || strings.Contains(script, "\n") {
		return false
	}
	for _, s := range strings.Split(script, ";") {
		s = strings.TrimSpace(s)
		if sedPlain.MatchString(s) {
			continue
		}
		m := sedSubstitute.FindStringSubmatchIndex(s)
		if m == nil {
			return false
		}
		delimiter := s[m[1]-1 : m[1]]
		fields := strings.Split(s[m[1]:], delimiter)
		if len(fields) != 3 || strings.HasSuffix(fields[0], `\`) || strings.HasSuffix(fields[1], `\`) || strings.Trim(fields[2], "gpiI0123456789") != "" {
			return false
		}
	}
	return true
}

// tee reads tee, which writes as a redirection does.
func (r *reader) tee(c call) {
	for _, w := range c.words[1:] {
		switch {
		case !known(w):
			r.unknown()
			r.write(c, w)
		case !strings.HasPrefix(w, "-"):
			r.write(c, w)
		}
	}
	r.itself(c)
}

// variables reads builtins that assign to or look at variables by name: a name may hold an expression.
func (r *reader) variables(c call) {
	args := c.words[1:]
	if c.name() == "printf" && (len(args) == 0 || known(args[0]) && !strings.HasPrefix(args[0], "-v")) {
		r.itself(c)
		return
	}
	if slices.ContainsFunc(args, func(a string) bool {
		return !known(a) || strings.ContainsAny(a, "[") && a != "[" || shouting.MatchString(a) || callsBack(c.name(), a)
	}) || c.name() == "let" && !slices.ContainsFunc(args, isNumber) {
		r.unknown()
	}
	r.itself(c)
}

// callsBack reports an option behind which a command stands, or what the shell looks for commands in.
func callsBack(name, option string) bool {
	if !strings.HasPrefix(option, "-") {
		return false
	}
	switch name {
	case "compgen", "complete":
		return strings.ContainsAny(option, "CFW")
	case "hash":
		return strings.Contains(option, "p")
	case "enable":
		return strings.Contains(option, "f")
	default:
		return strings.ContainsAny(option, "CF")
	}
}

// declaration reads declare and the like where the parser takes it for a command as others, behind builtin for example:
// it may evaluate what is assigned, and the names.
func (r *reader) declaration(c call) {
	for _, a := range c.words[1:] {
		name, _, assigns := strings.Cut(a, "=")
		switch {
		case !known(name) || strings.Contains(name, "[") || strings.HasPrefix(a, "-") && strings.ContainsAny(a, "in"):
			r.unknown()
		case assigns:
			r.assigned(a)
		}
	}
	r.itself(c)
}

var shouting = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
