package shell

import "strings"

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
	case "read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "test", "[", "let", "compgen", "complete",
		"hash", "enable":
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
		case !known(w), strings.HasPrefix(w, "--"), strings.HasPrefix(w, "+"), strings.Trim(w, "-ceuxvnfl") != "" &&
			w[0] == '-', w == "-":
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
