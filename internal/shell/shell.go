// Package shell says what a shell command would run. It is pure: text in, commands out; nothing is run and no file is
// looked at.
//
// A text becomes its simple commands, wherever they stand: in pipes, lists, subshells, functions, substitutions and
// here-documents, and behind what runs other commands (env, xargs, sudo, sh -c, find -exec). What cannot be known
// before the shell runs, such as the value of a variable, is a Hole in the text: it may turn out to be anything. What
// cannot be read at all is one Part that is nothing but a hole.
//
// It promises that every command word that bash would run stands in some Part, or a Part is a hole. It does not look
// into programs: what make or python run is theirs.
package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Hole stands in a Part's texts for what is not known: any text, also none, also several words.
const Hole = "\x00"

// Script is what a text would do.
type Script struct {
	Commands    []Construct // in the order of the text
	Paths       []Path      // that the commands name
	Directories []string    // that it changes to; a hole for one that is not known
	// Globs are patterns of files by the texts of the words that are nothing else; "" where that is not so of each such
	// word.
	Globs map[string]string
}

// Construct is a simple command as written, or another construct that has to be decided about.
type Construct struct {
	Source string
	Parts  []Part // itself and what it makes run
	// Anywhere reports that it writes to a file with an unknown path.
	Anywhere bool
	relative bool // it writes to a file that lies where the command stands
}

// Part is one thing that is run, as rules see it.
type Part struct {
	// Text is its words without their quotes, joined by blanks; a word that holds blanks or the like has single quotes.
	Text string
	// Readings are other texts under which rules that forbid or ask may know it: without a path, without a wrapper.
	Readings []string
	// Reads are files that it may read and that are not known beforehand, as texts with holes.
	Reads []string
	// Save is a pattern for what "always" allows; "" when nothing can be allowed for good.
	Save string
}

// Unknown reports that the part may be anything.
func (p Part) Unknown() bool { return p.Text == Hole }

// Path is a path that a command names or that a redirection opens.
type Path struct {
	Name  string // as the program gets it; up to the last slash before a hole
	Use   Use
	Whole bool     // false: Name is only where the path begins
	Shape string   // the whole of it with its holes, if it has some
	Deep  bool     // with Read: everything below it is
	Only  []string // of that, files whose names fit one of these patterns; nil: all
	Maybe bool     // Deep is so only for something that is not known
}

// Use says what is done with a path.
type Use int

// The uses.
const (
	Named  Use = iota // an argument that looks like a path
	Given             // an argument of a program that may read it
	Handed            // an argument of an unknown program, which may read or change it
	File              // an argument of a program that works on files
	Read              // its content is read
	Write             // it is written by the shell, or as if
	Change            // a program that is known to change files is given it
)

// The bounds of what is looked into. Beyond them a text counts as unreadable.
const (
	maxText  = 128 << 10
	maxDepth = 8
	maxParts = 300  // of one command as written
	maxTotal = 5000 // of all
)

// ParseScript reads a text as bash would.
func ParseScript(text string) Script {
	return parseScript(text, syntax.LangBash)
}

func parseScript(text string, variants ...syntax.LangVariant) Script {
	r := &reader{variants: variants}
	r.script(text, 0, nil)
	if r.total > maxTotal { // what is denied among them is so all the same
		r.out.Commands = append(r.out.Commands, Opaque(text).Commands...)
	}
	if r.spliced || r.loose {
		r.out.Globs = nil
	}
	for i := range r.out.Commands {
		c := &r.out.Commands[i]
		if c.Anywhere = c.Anywhere || r.lost && c.relative; c.Anywhere && len(c.Parts) == 0 {
			c.Parts = []Part{{Text: Hole}}
		}
	}
	r.out.Commands = slices.DeleteFunc(r.out.Commands, func(c Construct) bool { return len(c.Parts) == 0 })
	return r.out
}

// Parts is everything that the text would run.
func Parts(text string) []Part {
	var out []Part
	for _, c := range ParseScript(text).Commands {
		out = append(out, c.Parts...)
	}
	return out
}

// Opaque returns the script of a text that cannot be analysed before it runs, e.g. in the language of another shell.
func Opaque(text string) Script {
	return Script{Commands: []Construct{{Source: text, Parts: []Part{{Text: Hole}}}}}
}

// reader collects a Script.
type reader struct {
	out      Script
	variants []syntax.LangVariant // the languages that the text may be in: it is read in each
	parts    int                  // of the command that is read
	total    int                  // of those before it
	depth    int
	loose    bool    // patterns may mean other files than they seem to
	spliced  bool    // there are words with holes that are no words of the text
	around   *values // of the text that is read
	lost     bool    // a directory that it changes to may be any
	anywhere bool    // the command that is read writes to a file that may be any
	relative bool    // it writes to a file that lies where the command stands
	// nested is where the parts of an inner script go; nil at the top.
	nested   *Construct
	readings []string // of the wrappers around what is read
}

// script reads a text: the outer one, or one that a command is given, whose parts belong to that command.
func (r *reader) script(text string, depth int, readings []string) {
	if len(text) > maxText || depth > maxDepth || r.parts > maxParts || r.total > maxTotal ||
		strings.ContainsRune(text, 0) {
		r.illegible(text)
		return
	}
	oldDepth, oldReadings := r.depth, r.readings
	r.depth, r.readings = depth, readings
	defer func() { r.depth, r.readings = oldDepth, oldReadings }()
	if strings.ContainsRune(text, '\r') { // a character like others, that the parser passes over
		r.misread(text, strings.ReplaceAll(text, "\r", "\x01"))
		return
	}
	for _, v := range r.variants {
		file, err := syntax.NewParser(syntax.Variant(v), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
		if err != nil {
			r.illegible(text)
			return
		}
		w := &walker{reader: r, text: text, said: follow(file, r.around)}
		old := r.around
		r.around = w.said
		syntax.Walk(file, w.visit)
		r.around = old
	}
}

// illegible adds a text that is not read at all: it may run, read and write anything.
func (r *reader) illegible(text string) {
	r.command(text, func() {
		r.unknown()
		r.anywhere = true
	})
}

// unreadable adds a part of a text that may run anything.
func (r *reader) unreadable(source string) {
	r.command(source, func() { r.unknown() })
}

// misread adds a text that the parser takes for something else than bash does: it may be anything, and what stands in
// it when it is written so that both agree.
func (r *reader) misread(text, plain string) {
	r.command(text, func() {
		r.unknown()
		r.anywhere = true
		r.script(plain, r.depth+1, r.readings)
	})
}

// command adds a command as written, and what fill finds in it. Within another command it adds to that.
func (r *reader) command(source string, fill func()) {
	if r.nested != nil {
		fill()
		return
	}
	if r.total > maxTotal {
		return
	}
	c := Construct{Source: source}
	r.nested, r.parts, r.anywhere, r.relative = &c, 0, false, false
	fill()
	c.Anywhere, c.relative = r.anywhere, r.relative
	if r.parts >= maxParts {
		c.Parts = append(c.Parts, Part{Text: Hole})
	}
	r.nested, r.total = nil, r.total+r.parts
	same := slices.IndexFunc(r.out.Commands, func(d Construct) bool { return d.Source == c.Source })
	switch {
	case len(c.Parts) == 0 && !c.Anywhere && !c.relative:
	case same < 0:
		r.out.Commands = append(r.out.Commands, c)
	default:
		r.out.Commands[same].Anywhere = r.out.Commands[same].Anywhere || c.Anywhere
		r.out.Commands[same].relative = r.out.Commands[same].relative || c.relative
		for _, p := range c.Parts {
			r.out.Commands[same].add(p)
		}
	}
}

// unknown adds a part that may be anything.
func (r *reader) unknown() { r.part(Part{Text: Hole}) }

// unknownScript adds a part that may be any commands, which read any files.
func (r *reader) unknownScript() { r.part(Part{Text: Hole, Reads: []string{Hole}}) }

func (r *reader) part(p Part) {
	if r.parts++; r.parts >= maxParts {
		return
	}
	p.Readings = unique(p.Text, append(p.Readings, r.readings...))
	if r.loose && len(p.Reads) > 0 {
		p.Reads = []string{Hole}
	}
	r.nested.add(p)
}

// add adds the part unless one with its text is there.
func (c *Construct) add(p Part) {
	i := slices.IndexFunc(c.Parts, func(q Part) bool { return q.Text == p.Text })
	if i < 0 {
		c.Parts = append(c.Parts, p)
		return
	}
	c.Parts[i].Reads = unique("", append(slices.Clone(c.Parts[i].Reads), p.Reads...))
}

// readBy adds a part for a file that the shell itself reads for others, and that is not known beforehand.
func (r *reader) readBy(file string) {
	r.part(Part{Text: "cat " + quote(file), Reads: []string{file}, Save: "cat *"})
}

func (r *reader) path(name string, use Use) {
	if whole, _, cut := strings.Cut(name, Hole); cut {
		i := strings.LastIndexByte(whole, '/')
		if name == Hole || i < 0 && use != Change && use != Write {
			return
		}
		r.out.Paths = append(r.out.Paths, Path{Name: whole[:i+1], Use: use, Shape: name})
		return
	}
	r.out.Paths = append(r.out.Paths, Path{Name: name, Use: use, Whole: true})
}

// unique returns the texts without duplicates, without what is the text itself.
func unique(text string, readings []string) []string {
	var out []string
	for _, t := range readings {
		if t != text && t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
