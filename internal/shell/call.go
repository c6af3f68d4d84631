package shell

import (
	"path"
	"strings"
)

// call is one simple command, or one that another runs.
type call struct {
	assigns  []string // that programs may heed, as NAME=value
	words    []string // the command and its arguments; holes for what is not known
	readings []string // the texts of what runs it
	reads    []string // what is read for it, and is not known
	fed      bool     // it has another standard input than the script
	free     []string // the words with holes that may become any text
	several  []string // those that the shell may make several words of
	patterns []string // those that begin as the names of files do, which may begin with a dash
}

// name is the program or builtin, without a path.
func (c call) name() string { return base(c.words[0]) }

func base(word string) string {
	name := strings.ToLower(path.Base(word))
	return strings.TrimSuffix(name, ".exe")
}

// quiet are commands without an effect of their own. A target directory of theirs is in Script.Directories.
var quiet = words(": true false break continue return exit shift wait test [ cd pushd popd chdir")

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// call adds the parts of a command.
func (r *reader) call(c call) {
	if len(c.words) == 0 || r.parts > maxParts {
		return
	}
	if len(c.readings) > maxDepth {
		r.unknown()
		return
	}
	for _, a := range c.assigns {
		r.assigned(a)
	}
	if !known(c.words[0]) {
		r.itself(c)
		return
	}
	if strings.HasPrefix(c.words[0], "-") { // an option of what stands before it, such as time
		r.unknown()
	}
	name := c.name()
	if quiet[c.words[0]] && len(c.assigns) == 0 && r.quietCall(c) {
		return
	}
	if c.words[0] != name { // a program that is only called like one that we know
		r.itself(c)
	}
	if w, ok := wrappers[name]; ok {
		r.wrapped(c, w)
		return
	}
	r.paths(c, name, c.words[1:])
	if r.special(c) {
		return
	}
	if runsOthers[name] && (len(c.words) > 1 || name == "at" || name == "batch") || executes(name, c.words[1:]) ||
		c.mayGive(name, c.words[1:]) {
		r.unknown()
	}
	r.itself(c)
}

// quietCall notes where a directory change leads; false when it has to be decided about like any command.
func (r *reader) quietCall(c call) bool {
	name, args := c.name(), c.words[1:]
	switch name {
	case "test", "[": // evaluates what it finds behind -v
		for _, a := range args {
			if a == "-v" || a == "-R" || strings.HasPrefix(a, Hole) && len(args) < 4 && len(args) > 1 && name == "test" {
				return false
			}
		}
		return true
	case "wait": // which assigns to what -p names
		return len(args) == 0 || !strings.HasPrefix(args[0], "-")
	case "cd", "pushd", "popd", "chdir":
	default:
		return true
	}
	to := "~"
	for _, a := range args {
		switch {
		case !known(a) || strings.HasPrefix(a, "+"):
			r.out.Directories = append(r.out.Directories, Hole)
			r.lost = r.lost || known(a) || c.isFree(a) || name == "popd" || name == "pushd"
			return false
		case a == "-" || len(a) > 1 && a[0] == '-':
			if a == "-" {
				return name == "cd" // to where it was before
			}
			continue
		}
		to = a
	}
	if name == "popd" || name == "pushd" && len(args) == 0 {
		return true
	}
	r.out.Directories = append(r.out.Directories, to)
	return true
}

// itself adds the command as a part.
func (r *reader) itself(c call, more ...string) {
	own := c.own()
	text := strings.Join(append([]string{quoteName(own[0])}, quoteEach(own[1:])...), " ")
	if len(c.assigns) > 0 {
		text = quoteAll(c.assigns) + " " + text
	}
	readings := append([]string{strings.Join(c.words, " "), c.rename(own[0]), c.rename(c.name())}, more...)
	if i := strings.LastIndex(c.words[0], Hole); i >= 0 { // there may be a path in it
		readings = append(readings, c.rename(c.words[0][i:]))
	}
	files := append(reads(c.name(), c.words[1:]), c.reads...)
	if !known(c.words[0]) { // which may be any program that reads
		files = append(files, Hole)
	}
	r.part(Part{Text: text, Readings: append(readings, c.readings...), Reads: files, Save: save(c.assigns, own)})
}

// own is the words as the shell looks them up. What has a slash is a path: it begins with a slash, a dot or a tilde, so
// that a rule for a name does not match it.
func (c call) own() []string {
	first := c.words[0]
	if known(first) && strings.Contains(first, "/") {
		clean := path.Clean(first)
		if clean[0] != '/' && clean[0] != '~' && !strings.HasPrefix(clean, "../") {
			clean = "./" + clean
		}
		first = clean
	}
	return append([]string{first}, c.words[1:]...)
}

func (c call) rename(name string) string {
	return strings.Join(append([]string{name}, c.words[1:]...), " ")
}

// inner reads a script that a command is given.
func (r *reader) inner(c call, script string) {
	if len(c.assigns) > 0 {
		r.itself(c)
	}
	if !known(script) {
		r.unknownScript()
		return
	}
	r.script(
		script, r.depth+1, append(append([]string{}, r.readings...), append(c.readings, strings.Join(c.words, " "))...),
	)
}
