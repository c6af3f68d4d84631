package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// searchers search directories without an option, by default the working directory.
var searchers = words("rg ag ack ack-grep ugrep rgrep")

// flagsOnly are letters of options of grep and its like that have no value.
const flagsOnly = "nilrRwvcHhoFEPsaSuUzLIxqpN."

// descends reports that the program reads everything below the directories that it is given.
func descends(name string, args []string) bool {
	switch name {
	case "grep", "egrep", "fgrep", "zgrep":
		return given(args, "rR", "--recursive", "--dereference-recursive", "--directories=recurse") ||
			followed(args, "-d", "recurse")
	case "cp", "rsync", "scp":
		return given(args, "rRa", "--recursive", "--archive")
	case "diff", "zip":
		return given(args, "rR", "--recursive", "--recurse-paths", "--recurse-patterns")
	case "tar", "bsdtar":
		return !extracts(args)
	case "mv", "ln", "7z", "ditto", "pax":
		return true
	default:
		return searchers[name]
	}
}

// given reports an option of one of the letters, or one of the long ones, also abbreviated.
func given(args []string, letters string, long ...string) bool {
	return slices.ContainsFunc(args[:operandsEnd(args)], func(a string) bool {
		switch {
		case strings.HasPrefix(a, "--"):
			return len(a) > 2 &&
				slices.ContainsFunc(long, func(o string) bool { return strings.HasPrefix(o, strings.TrimSuffix(a, Hole)) })
		case strings.HasPrefix(a, "-"):
			return strings.ContainsAny(a, letters+Hole)
		default:
			return false
		}
	})
}

func followed(args []string, option, value string) bool {
	i := slices.Index(args, option)
	return i >= 0 && i+1 < len(args) && (args[i+1] == value || !known(args[i+1]))
}

// extracts reports that tar reads an archive and no files.
func extracts(args []string) bool {
	for i, a := range args {
		mode := i == 0 && !strings.HasPrefix(a, "-") || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--")
		switch {
		case mode &&
			strings.ContainsAny(
				a, "cruA"+Hole,
			), strings.HasPrefix(a, "--c"), strings.HasPrefix(a, "--ap"), strings.HasPrefix(a, "--u"):
			return false
		case mode &&
			strings.ContainsAny(a, "xt"), strings.HasPrefix(a, "--ex"), strings.HasPrefix(a, "--get"), strings.HasPrefix(a, "--l"):
			return true
		}
	}
	return false
}

// descend notes what is read below the directories that the program is given.
func (r *reader) descend(c call, name string, args []string) {
	if name == "git" && len(args) > 0 && (args[0] == "grep" || args[0] == "archive") {
		r.below(Path{Name: "."})
		return
	}
	only := onlyNames(args, "--include")
	sure := descends(name, args)
	if !sure &&
		!(slices.ContainsFunc(
			args, func(a string) bool { return slices.Contains(c.several, a) },
		) && descends(name, append(slices.Clone(args), "-r"))) {
		return
	}
	for i, a := range args {
		if !strings.HasPrefix(a, "-") || slices.Contains(args[:i], "--") {
			r.below(Path{Name: a, Only: only, Maybe: !sure})
		}
		if c.isFree(a) {
			r.below(Path{Name: ".", Only: only, Maybe: true})
		}
	}
	if patterned[name] && !c.fed && !searchesElsewhere(args) {
		r.below(Path{Name: ".", Only: only, Maybe: !sure})
	}
}

// below notes that everything below a directory is read, or below those that the pattern stands for.
func (r *reader) below(p Path) {
	if begin, _, open := strings.Cut(p.Name, Hole); open {
		if p.Name = begin[:strings.LastIndexByte(begin, '/')+1]; p.Name == "" {
			p.Name = "."
		}
	}
	p.Use, p.Whole, p.Deep = Read, true, true
	r.out.Paths = append(r.out.Paths, p)
}

// searchesElsewhere reports that a directory or file to search is certainly named behind the pattern.
func searchesElsewhere(args []string) bool {
	operands := 0
	if givesPattern(args) {
		operands = 1
	}
	for i, a := range args {
		value := i > 0 && strings.HasPrefix(args[i-1], "-") && strings.Trim(args[i-1], "-"+flagsOnly) != "" &&
			!strings.Contains(args[i-1], "=")
		if !strings.HasPrefix(a, "-") && !value && !strings.HasPrefix(a, Hole) {
			operands++
		}
	}
	return operands > 1
}

// onlyNames are the values of the option, if all are patterns that are understood.
func onlyNames(args []string, option string) (out []string) {
	for i, a := range args {
		value, ok := strings.CutPrefix(a, option+"=")
		if a == option && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok && (!known(value) || strings.ContainsAny(value, `[\{`)) {
			return nil
		}
		if ok {
			out = append(out, value)
		}
	}
	return out
}

// foundNames are those of the files that find finds, nil if that is not simply said.
func foundNames(args []string) []string {
	if slices.ContainsFunc(args, func(a string) bool {
		return !known(a) && !strings.Contains(a, "{}") || slices.Contains([]string{"-o", "-or", "!", "-not", ",", "("}, a)
	}) {
		return nil
	}
	return onlyNames(args, "-name")
}

// markFed marks the commands whose standard input is the output of others.
func (w *walker) markFed(s *syntax.Stmt) {
	if w.fed == nil {
		w.fed = map[syntax.Node]bool{}
	}
	w.fed[s.Cmd] = true
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok {
		w.markFed(b.X)
	}
}

// isFed reports that the command has another standard input than the script.
func (w *walker) isFed(c *syntax.CallExpr, redirs []*syntax.Redirect) bool {
	return w.fed[c] || slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool {
		return r.N == nil &&
			(r.Op == syntax.RdrIn || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc)
	})
}
