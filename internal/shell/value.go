package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// The bounds of what is followed of variables. Beyond them a word may be anything.
const (
	maxTexts  = 16 // of one word
	maxRounds = 4  // variables in the values of variables
)

// values are what a text assigns to its variables, as far as it says so.
type values struct {
	words   map[string][]*syntax.Word // a nil word is no text at all
	sure    map[string][]span         // where a variable has one of its words, whatever happens
	spoiled map[string]bool           // something else may be assigned to it
	all     bool                      // anything may be assigned to anything
	loose   bool                      // patterns may stand for more files than they seem to
	outer   *values                   // of the text around this one, which may have been exported
}

// span is a part of a text.
type span struct{ from, to uint }

// foreignNames are those of variables that the shell or its surroundings give a value.
var foreignNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(BASH.*|COMP_.*|READLINE_.*|HIST.*|EPOCH.*|_|CDPATH|COLUMNS|COPROC|DIRSTACK|EUID|FUNCNAME|GROUPS|HOME|HOSTNAME|HOSTTYPE|IFS|LINENO|LINES|MACHTYPE|MAPFILE|OLDPWD|OPTARG|OPTERR|OPTIND|OSTYPE|PATH|PIPESTATUS|PPID|PS[0-4]|PWD|RANDOM|REPLY|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM|TMPDIR|UID|USER)$`,
	)
})

// follow collects the values of a text that is read.
func follow(file *syntax.File, outer *values) *values {
	v := &values{words: map[string][]*syntax.Word{}, sure: map[string][]span{}, spoiled: map[string]bool{}, outer: outer}
	certain := map[syntax.Node]bool{}
	for _, s := range file.Stmts {
		markCertain(s, certain)
	}
	end := file.End().Offset() + 1
	syntax.Walk(file, func(n syntax.Node) bool {
		v.node(n, certain, end)
		return true
	})
	v.loose = v.loose || outer != nil && outer.loose || v.names("GLOBIGNORE")
	return v
}

// markCertain marks what is run whatever else happens, and in this shell.
func markCertain(s *syntax.Stmt, certain map[syntax.Node]bool) {
	if s.Background || s.Coprocess || len(s.Redirs) > 0 {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause:
		certain[c] = true
	case *syntax.Block:
		for _, inner := range c.Stmts {
			markCertain(inner, certain)
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			markCertain(c.X, certain)
		}
	}
}

func (v *values) node(n syntax.Node, certain map[syntax.Node]bool, end uint) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		where := span{n.End().Offset(), end}
		if !certain[n] || len(n.Args) > 0 {
			where = span{}
		}
		for _, a := range n.Assigns {
			v.assign(a, where)
		}
		v.assigners(n.Args)
	case *syntax.DeclClause:
		v.declare(n, certain[n], end)
	case *syntax.ForClause:
		it, ok := n.Loop.(*syntax.WordIter)
		if !ok {
			return
		}
		if len(it.Items) == 0 { // of the arguments
			v.spoiled[it.Name.Value] = true
		}
		for _, w := range it.Items {
			v.bind(it.Name.Value, w, span{n.DoPos.Offset(), n.DonePos.Offset()})
		}
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
			v.spoiled[n.Param.Value] = true
		}
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.CStyleLoop:
		v.arithmetic(n)
	case *syntax.Redirect:
		if n.N != nil {
			v.spoiled[strings.Trim(n.N.Value, "{}")] = true
		}
	case *syntax.CoprocClause:
		v.spoiled[wordText(n.Name)] = true
	}
}

func (v *values) bind(name string, w *syntax.Word, where span) {
	v.words[name] = append(v.words[name], w)
	if where.to > 0 {
		v.sure[name] = append(v.sure[name], where)
	}
}

func (v *values) assign(a *syntax.Assign, where span) {
	switch {
	case a.Name == nil:
		v.all = true
	case a.Array != nil, a.Index != nil, a.Append:
		v.spoiled[a.Name.Value] = true
	default:
		v.bind(a.Name.Value, a.Value, where)
	}
}

func (v *values) declare(d *syntax.DeclClause, certain bool, end uint) {
	for _, a := range d.Args {
		if a.Name == nil {
			v.all = v.all || strings.Trim(wordText(a.Value), "-rxg") != ""
			continue
		}
		where := span{d.End().Offset(), end}
		if !certain || a.Naked {
			where = span{}
		}
		if !a.Naked || d.Variant.Value != "export" && d.Variant.Value != "readonly" {
			v.assign(a, where)
		}
	}
	v.all = v.all || d.Variant.Value == "nameref"
}

// assigners notes what builtins assign by name.
func (v *values) assigners(args []*syntax.Word) {
	if len(args) == 0 {
		return
	}
	switch name := wordText(args[0]); {
	case name == "command" && len(args) > 1 && strings.EqualFold(wordText(args[1]), "-v"): // only says what it is
		return
	case name == "shopt":
		v.loose = true
	}
	switch name := wordText(args[0]); name {
	case "read", "mapfile", "readarray", "getopts", "printf", "unset", "let", "wait":
		for _, a := range args[1:] {
			text := wordText(a)
			v.all = v.all || !known(text) && name != "printf" || strings.HasPrefix(text, Hole) // which may be -v
			v.spoiled[strings.TrimPrefix(text, "-v")] = true
		}
	case "eval", "source", ".", "trap", "alias", "builtin", "command", "declare", "typeset", "local", "export", "readonly",
		"fc", "enable", "bind", "complete", "shopt":
		v.all = true
	default:
		v.all = v.all || !known(name)
	}
}

func (v *values) arithmetic(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			v.spoiled[w.Lit()] = true
		}
		return true
	})
}

// texts are what the word may become, each as the words that the shell makes of it, and whether that is all.
func (v *values) texts(w *syntax.Word) (out [][]string, complete bool) {
	whole := []*syntax.Word{w}
	if braces(w) {
		if whole = split(w); whole == nil {
			return nil, false
		}
	}
	out, complete = [][]string{nil}, true
	for _, part := range whole {
		texts, all := v.word(part, false, maxRounds)
		complete = complete && all
		var longer [][]string
		for _, before := range out {
			for _, text := range texts {
				longer = append(longer, append(slices.Clone(before), text))
			}
		}
		if out = longer; len(out) > maxTexts {
			return nil, false
		}
	}
	return out, complete
}

// split is the words that the shell makes of one with braces, nil if it is too much.
func split(w *syntax.Word) []*syntax.Word {
	whole := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(whole)
	var words []*syntax.Word
	for word, err := range expand.BracesSeq(&expand.Config{}, whole) {
		if err != nil || len(words) == maxTexts || braces(word) {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// word is what one word may become where the shell makes one word of it. What is only known as a pattern of files keeps
// its holes. In an assignment nothing is split.
func (v *values) word(w *syntax.Word, assigned bool, rounds int) (out []string, complete bool) {
	if w == nil {
		return []string{""}, true
	}
	out, complete = []string{""}, true
	add := func(texts []string, all bool) {
		complete = complete && all
		var longer []string
		for _, before := range out {
			for _, text := range texts {
				if splitsHome(before, text) {
					text, complete = Hole, false
				}
				longer = append(longer, holes(before+text))
			}
		}
		if out = longer; len(out) > maxTexts {
			out, complete = []string{Hole}, false
		}
	}
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.ParamExp:
			texts, all := v.variable(p, rounds)
			if i == 0 && home(p) {
				texts, all = []string{"~"}, true
			}
			add(texts, all && (assigned || numbers(p) || v.keepsTogether(texts)))
		case *syntax.DblQuoted:
			for j, q := range p.Parts {
				if inner, ok := q.(*syntax.ParamExp); ok && !(i == 0 && j == 0 && home(inner)) {
					add(v.variable(inner, rounds))
					continue
				}
				text := wordText(
					&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Dollar: p.Dollar, Parts: []syntax.WordPart{q}}}},
				)
				add([]string{text}, known(text) || numbers(q))
			}
		case *syntax.Lit:
			text := wordText(&syntax.Word{Parts: []syntax.WordPart{p}})
			add([]string{text}, !assigned || known(text))
		case *syntax.ExtGlob:
			add([]string{Hole}, !assigned)
		default:
			text := wordText(&syntax.Word{Parts: []syntax.WordPart{p}})
			add([]string{text}, known(text) || numbers(p))
		}
	}
	return out, complete
}

// splitsHome reports that a ~ would stand where it does not mean the home, or mean another's.
func splitsHome(before, after string) bool {
	return before != "" && strings.HasPrefix(after, "~") || before == "~" && after != "" && !strings.HasPrefix(after, "/")
}

var together = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_./@%+=:,~-]+$`)
})

// keepsTogether reports that the shell makes one word of each of the texts without quotes.
func (v *values) keepsTogether(texts []string) bool {
	return !v.names("IFS") && !slices.ContainsFunc(texts, func(t string) bool { return !together().MatchString(t) })
}

// names reports that the text assigns to the variable, or may.
func (v *values) names(name string) bool {
	return v.all || v.spoiled[name] || len(v.words[name]) > 0 || v.outer != nil && v.outer.names(name)
}

// variable is what an expansion may become.
func (v *values) variable(p *syntax.ParamExp, rounds int) (out []string, complete bool) {
	name := plainName(p)
	switch {
	case numbers(p):
		return []string{Hole}, true
	case name == "PWD" && !v.names(name):
		return []string{"~+"}, true
	case name == "" || rounds == 0:
		return []string{Hole}, false
	}
	complete = !v.all && !v.spoiled[name] && !foreignNames().MatchString(name) &&
		slices.ContainsFunc(v.sure[name], func(s span) bool {
			return s.from <= p.Pos().Offset() && p.Pos().Offset() < s.to
		})
	for scope := v; scope != nil; scope = scope.outer {
		for _, w := range scope.words[name] {
			texts, all := scope.word(w, true, rounds-1)
			if !all && w != nil && isPattern(w) {
				texts, all = []string{wordText(w)}, true
			}
			complete = complete && all
			out = append(out, texts...)
		}
	}
	if len(out) == 0 || len(out) > maxTexts {
		return []string{Hole}, false
	}
	return out, complete
}

// isPattern reports that the word is a pattern for files and nothing else, as a loop over files has it.
func isPattern(w *syntax.Word) bool {
	_, ok := globPattern(w)
	return ok
}

// numbers reports that the part can become nothing but digits.
func numbers(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || p.Short && p.Param != nil && strings.Contains("?#$!", p.Param.Value)
	}
	return false
}
