package shell

import (
	"slices"
	"strings"
)

// wrapper is a program that runs the command behind its own options. Only options that stand here are understood.
type wrapper struct {
	flags   string   // letters of options without a value
	values  string   // letters of options with one
	long    []string // with = when the value is the next word
	before  int      // arguments before the command
	digits  bool     // -N is an option
	assigns bool     // NAME=value may stand before the command
	own     bool     // it gives more rights, so that it needs to be allowed itself
}

var wrappers = map[string]wrapper{
	"env": {flags: "i0v", values: "uC", assigns: true, long: []string{
		"unset=", "chdir=", "ignore-environment", "null", "debug", "block-signal", "default-signal", "ignore-signal",
	}},
	"command": {flags: "p"},
	"builtin": {},
	"exec":    {flags: "cl", values: "a"},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"nice":    {values: "n", digits: true, long: []string{"adjustment="}},
	"ionice":  {flags: "t", values: "cn", long: []string{"class=", "classdata=", "ignore"}},
	"timeout": {
		flags: "vfp", values: "ks", before: 1,
		long: []string{"kill-after=", "signal=", "preserve-status", "foreground", "verbose"},
	},
	"time":   {flags: "apqvV"},
	"stdbuf": {values: "ioe", long: []string{"input=", "output=", "error="}},
	"sudo": {flags: "AbEHknPS", values: "ugpCDhRrTt", assigns: true, own: true, long: []string{
		"user=", "group=", "preserve-env", "non-interactive", "reset-timestamp", "stdin", "set-home",
	}},
	"doas":    {flags: "n", values: "u", own: true},
	"busybox": {},
	"toybox":  {},
	"xargs": {flags: "0rtpxo", values: "InLPsdEa", long: []string{
		"null", "no-run-if-empty", "max-args=", "max-procs=", "max-lines=", "max-chars=", "replace=", "delimiter=",
		"arg-file=",
		"verbose", "exit", "interactive",
	}},
	"chronic":    {},
	"caffeinate": {flags: "dimsu", values: "tw"},
}

// wrapped adds what a wrapper runs.
func (r *reader) wrapped(c call, w wrapper) {
	name := c.name()
	rest, assigns, options, ok := w.split(c.words[1:])
	if name == "env" {
		if i := slices.IndexFunc(c.words, splitString); i > 0 {
			r.splitString(c, i)
			return
		}
	}
	switch {
	case name == "command" && len(c.words) > 1 && strings.EqualFold(c.words[1], "-v"): // only says what it is
		r.itself(c)
		return
	case !ok:
		r.paths(c, name, c.words[1:])
		r.unknown()
		r.itself(c)
		return
	case len(rest) == 0:
		r.itself(c)
		return
	}
	r.paths(c, name, options)
	r.directories(c, options, "-C", "-D", "--chdir")
	if w.own {
		r.itself(c)
	}
	if name == "xargs" {
		rest, r.spliced = xargsWords(rest, options), true
	}
	inner := call{
		assigns: append(slices.Clone(c.assigns), assigns...), words: rest, reads: c.reads, fed: c.fed, free: c.free,
		several: c.several, patterns: c.patterns,
	}
	if name == "xargs" {
		if useOf(base(rest[0]), rest[1:]) == Read {
			r.below(Path{Name: ".", Maybe: true}) // the names come from somewhere
		}
		inner.free = append(slices.Clone(inner.free), unknownOf(rest)...)
		inner.several = append(slices.Clone(inner.several), Hole)
	}
	inner.readings = append(slices.Clone(c.readings), strings.Join(c.words, " "))
	r.call(inner)
}

// split finds the command after a wrapper's options; ok is false if its beginning is unknown.
func (w wrapper) split(args []string) (rest, assigns, options []string, ok bool) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "-"; i++ {
		if args[i] == "--" {
			i++
			break
		}
		n, ok := w.option(args[i])
		if !ok || i+n >= len(args) {
			return nil, nil, nil, false
		}
		options = append(options, args[i:i+n+1]...)
		i += n
	}
	for range w.before {
		if i == len(args) || !known(args[i]) {
			return nil, nil, nil, false
		}
		i++
	}
	for ; w.assigns && i < len(args); i++ {
		name, _, ok := strings.Cut(args[i], "=")
		if !ok || name == "" { // any other name can be set
			break
		}
		if !harmless(name) {
			assigns = append(assigns, args[i])
		}
	}
	if i < len(args) && (args[i] == "-" || strings.HasPrefix(args[i], Hole)) {
		return nil, nil, nil, false
	}
	return args[i:], assigns, options, true
}

// option reports how many words behind the option belong to it.
func (w wrapper) option(o string) (n int, ok bool) {
	if !known(o) {
		return 0, false
	}
	if long, isLong := strings.CutPrefix(o, "--"); isLong {
		name, _, has := strings.Cut(long, "=")
		switch {
		case slices.Contains(w.long, name+"="):
			if has {
				return 0, true
			}
			return 1, true
		default:
			return 0, slices.Contains(w.long, name)
		}
	}
	if w.digits && strings.Trim(o[1:], "0123456789-") == "" {
		return 0, true
	}
	for i := 1; i < len(o); i++ {
		switch {
		case strings.IndexByte(w.values, o[i]) >= 0:
			if i+1 < len(o) {
				return 0, true
			}
			return 1, true
		case strings.IndexByte(w.flags, o[i]) < 0:
			return 0, false
		}
	}
	return 0, true
}

// directories notes where options change to.
func (r *reader) directories(c call, options []string, names ...string) {
	for i, o := range options {
		name, value, has := strings.Cut(o, "=")
		if !has && i+1 < len(options) {
			value = options[i+1]
		}
		if len(o) > 2 && o[0] == '-' && o[1] != '-' { // in one word
			name, value = o[:2], o[2:]
		}
		if !slices.Contains(names, name) || value == "" {
			continue
		}
		if !known(value) {
			r.lost = r.lost || c.isFree(value) || c.isFree(o)
			value = Hole
		}
		r.out.Directories = append(r.out.Directories, value)
	}
}

func splitString(word string) bool {
	return strings.HasPrefix(word, "--split-string") ||
		len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Contains(word, "S")
}

// splitString reads env -S 'command and arguments' rest.
func (r *reader) splitString(c call, i int) {
	word := c.words[i]
	_, text, has := strings.Cut(word, "=")
	if word[1] != '-' {
		_, text, _ = strings.Cut(word, "S")
		has = text != ""
	}
	rest := c.words[i+1:]
	if !has && len(rest) > 0 {
		text, rest = rest[0], rest[1:]
	}
	if !known(text) || strings.ContainsAny(text, "\\$`") || i > 1 {
		r.unknown()
		r.itself(c)
		return
	}
	parts := []string{"env", text}
	for _, w := range rest {
		if !known(w) {
			r.unknown()
			return
		}
		parts = append(parts, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	r.inner(c, strings.Join(parts, " "))
}

// xargsWords returns the command with a hole for the words that xargs adds: at the end, or in place of the mark.
func xargsWords(rest, options []string) []string {
	mark := ""
	for i, o := range options {
		switch {
		case strings.HasPrefix(o, "--replace="):
			mark = strings.TrimPrefix(o, "--replace=")
		case o == "--replace" || o == "-I":
			if i+1 < len(options) {
				mark = options[i+1]
			}
		case strings.HasPrefix(o, "-") && !strings.HasPrefix(o, "--") && strings.Contains(o, "I"):
			_, mark, _ = strings.Cut(o, "I")
			if mark == "" && i+1 < len(options) {
				mark = options[i+1]
			}
		}
	}
	if mark == "" {
		return append(slices.Clone(rest), Hole)
	}
	return replaceAll(rest, mark)
}

// replaceAll makes holes of a mark.
func replaceAll(words []string, mark string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = holes(strings.ReplaceAll(w, mark, Hole))
	}
	return out
}
