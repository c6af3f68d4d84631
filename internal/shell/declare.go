package shell

import (
	"regexp"
	"slices"
	"strings"
)

// remembering reads set and history: a shell that keeps a history runs what stands in it for !! and its like.
func (r *reader) remembering(c call) {
	for i, w := range c.words[1:] {
		if c.name() == "history" || !known(w) || w == "history" || w == "histexpand" || w == "keyword" ||
			i == 0 && strings.HasPrefix(w, "-") && strings.ContainsAny(w, "Hk") {
			r.unknown()
			break
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

// callsBack reports whether the value of an option is a command, or where the shell looks for commands.
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
