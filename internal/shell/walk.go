package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker goes through the syntax tree of one text.
type walker struct {
	*reader
	text string
	said *values              // of the text
	fed  map[syntax.Node]bool // what reads the output of others
}

// visit is called for every node, outer ones first, so that what stands in a substitution is a command of its own.
func (w *walker) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		w.statement(n)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		if !numeric(n) {
			w.unreadable(w.source(n))
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			w.markFed(n.Y)
		}
	case *syntax.ForClause:
		w.loop(n)
	case *syntax.TestClause:
		if testEvaluates(n) || !expansionsKnown(n) {
			w.unreadable(w.source(n))
		}
	case *syntax.CaseClause:
		if !headKnown(n) {
			w.unreadable(w.source(n))
		}
	case *syntax.CoprocClause:
		if !coprocKnown(n) {
			w.unreadable(w.source(n))
		}
	case *syntax.Comment: // a backslash does not make it longer, whatever the parser thinks
		if begin, rest, ok := w.cutComment(n); ok {
			w.misread(w.text, begin+"\n"+rest)
		}
	case *syntax.TestDecl:
		w.unreadable(w.source(n))
	}
	return true
}

// cutComment returns what stands before the end of the comment's line, and behind it, if the parser has gone on there.
func (w *walker) cutComment(c *syntax.Comment) (begin, rest string, ok bool) {
	from := min(int(c.Pos().Offset()), len(w.text))
	line, rest, more := strings.Cut(w.text[from:], "\\\n")
	if !strings.Contains(c.Text, "\n") || !more {
		return "", "", false
	}
	return w.text[:from] + line, rest, true
}

func (w *walker) source(n syntax.Node) string {
	return w.text[min(int(n.Pos().Offset()), len(w.text)):min(int(n.End().Offset()), len(w.text))]
}

// statement adds a simple command with its redirections, or the redirections of a compound one.
func (w *walker) statement(s *syntax.Stmt) {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.command(w.statementSource(s), func() { w.simple(c, s.Redirs) })
	case *syntax.DeclClause:
		w.command(w.statementSource(s), func() { w.declare(c); w.redirections(s.Redirs) })
	default:
		for _, r := range s.Redirs {
			w.command(w.source(r), func() {
				w.redirections([]*syntax.Redirect{r})
				for _, file := range w.unknownInputs([]*syntax.Redirect{r}) {
					w.readBy(file)
				}
			})
		}
	}
}

// statementSource is the statement without what separates it from the next.
func (w *walker) statementSource(s *syntax.Stmt) string {
	from, to := int(s.Cmd.Pos().Offset()), int(s.Cmd.End().Offset())
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) == 0 {
		if last := c.Assigns[len(c.Assigns)-1]; last.Append && last.Value == nil && last.Array == nil {
			to++ // the parser forgets the = of A+=
		}
	}
	for _, r := range s.Redirs {
		from, to = min(from, int(r.Pos().Offset())), max(to, int(r.Word.End().Offset()))
		if r.Hdoc != nil { // the body stands behind the rest of the line
			to = max(to, int(r.Hdoc.End().Offset()))
		}
	}
	return w.text[min(from, len(w.text)):min(max(from, to), len(w.text))]
}

// simple adds a simple command.
func (w *walker) simple(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	w.redirections(redirs)
	if !expansionsKnown(c) {
		w.unknown()
	}
	assigns := w.assignments(c.Assigns)
	if len(c.Args) == 0 {
		for _, a := range assigns {
			w.assigned(a)
			w.part(Part{Text: a})
		}
		return
	}
	if testSplits(c.Args) {
		w.unknown()
	}
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		words[i] = wordText(a)
		w.glob(a, words[i])
	}
	means := w.said.meanings(c.Args, words)
	raw := ""
	if w.depth == 0 {
		raw = strings.Join(strings.Fields(w.text[c.Args[0].Pos().Offset():c.End().Offset()]), " ")
	}
	w.call(
		call{
			assigns: assigns, words: words, readings: []string{raw}, reads: w.unknownInputs(redirs), fed: w.isFed(c, redirs),
			free: means.free, several: means.several, patterns: means.patterns,
		},
	)
	for _, other := range means.others {
		w.call(
			call{
				assigns: assigns, words: other, readings: []string{raw}, fed: w.isFed(c, redirs), free: means.free,
				several: means.several, patterns: means.patterns,
			},
		)
	}
}

// assignments returns those that may change what programs do, as texts.
func (w *walker) assignments(list []*syntax.Assign) []string {
	var out []string
	for _, a := range list {
		if a.Name == nil {
			out = append(out, Hole)
			continue
		}
		if harmless(a.Name.Value) {
			continue
		}
		value := wordText(a.Value)
		if a.Array != nil {
			value = Hole
		}
		out = append(out, a.Name.Value+"="+value)
	}
	return out
}

var (
	ownName   = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	proxyName = regexp.MustCompile(`_proxy$|^p?npm_config_`)
)

// harmless reports that no program does something else because of the variable: names in small letters are a
// script's own, but for a few.
func harmless(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "CI":
		return true
	case "_":
		return false
	}
	return strings.HasPrefix(name, "LC_") || ownName.MatchString(name) && !proxyName.MatchString(name)
}

// declare adds export, declare and the like, unless they only make a variable of the script's own.
func (w *walker) declare(d *syntax.DeclClause) {
	if !expansionsKnown(d) {
		w.unknown()
	}
	words, plain := []string{d.Variant.Value}, d.Variant.Value != "export" && d.Variant.Value != "nameref"
	for _, a := range d.Args {
		switch {
		case a.Name == nil:
			option := wordText(a.Value)
			words = append(words, option)
			name, _, assigns := strings.Cut(option, "=")
			if assigns { // in quotes
				w.assigned(option)
				plain = plain && harmless(name)
			}
			if strings.Contains(name, "[") {
				w.unknown()
			}
			if !known(option) || !assigns && strings.ContainsAny(option, "inxu") {
				plain = false
				if strings.HasPrefix(option, "-") && strings.ContainsAny(option, "in") || !known(option) {
					w.unknown() // what is assigned is evaluated, or names another variable
				}
			}
		case a.Naked:
			words = append(words, a.Name.Value)
			plain = plain && harmless(a.Name.Value)
		default:
			value := wordText(a.Value)
			if a.Array != nil {
				value = Hole
			}
			words = append(words, a.Name.Value+"="+value)
			w.assigned(a.Name.Value + "=" + value)
			plain = plain && harmless(a.Name.Value)
		}
	}
	if !plain {
		w.part(Part{Text: quoteAll(words)})
	}
}

// loop adds what a for loop assigns to, if that matters.
func (w *walker) loop(f *syntax.ForClause) {
	if it, ok := f.Loop.(*syntax.WordIter); ok && (!harmless(it.Name.Value) || !expansionsKnown(it)) {
		w.unreadable("for " + w.source(it))
	}
}

// redirections adds the files that are opened. Where it is not known which file is written, anything may be.
func (w *walker) redirections(list []*syntax.Redirect) {
	for _, r := range list {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") && !harmless(strings.Trim(r.N.Value, "{}")) {
			w.unknown()
		}
		if !expansionsKnown(r) {
			w.unknown()
		}
		target := wordText(r.Word)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
			continue
		case syntax.DplOut:
			if strings.Trim(target, "0123456789-") == "" && target != "" {
				continue
			}
		case syntax.RdrIn:
			w.opened(target, Read)
			continue
		}
		w.opened(target, Write)
		w.relative = w.relative || !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~")
		w.anywhere = w.anywhere || w.said.elsewhere(target)
		if !known(target) {
			w.unknown()
			means := w.said.meanings([]*syntax.Word{r.Word}, []string{target})
			for _, other := range means.others {
				w.opened(strings.Join(other, " "), Write)
			}
			w.anywhere = w.anywhere || len(means.free) > 0
		}
	}
}

// unknownInputs are the files that redirections read and that are not known.
func (w *walker) unknownInputs(list []*syntax.Redirect) (out []string) {
	for _, r := range list {
		if file := wordText(r.Word); r.Op == syntax.RdrIn && !known(file) {
			w.glob(r.Word, file)
			out = append(out, file)
		}
	}
	return out
}

func (w *walker) opened(target string, use Use) {
	if strings.HasPrefix(target, "/dev/tcp/") || strings.HasPrefix(target, "/dev/udp/") {
		w.unknown() // a connection
		return
	}
	w.path(target, use)
}
