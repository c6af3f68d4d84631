package shell

import (
	"slices"
	"strings"
)

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
			inner := call{
				words: replaceAll(c.words[i+1:end], "{}"), readings: c.readings, several: c.several, patterns: c.patterns,
			}
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
	if i := slices.IndexFunc(
		args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" },
	); i >= 0 {
		args = args[:i]
	}
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}
