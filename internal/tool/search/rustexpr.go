package search

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// rustExpression returns an expression in the syntax of ripgrep that matches at least what re matches: Go reads an
// invalid byte as U+FFFD, and a search here skips a byte order mark at the beginning of a file. Classes and folded
// letters are written out, because the two languages define \w, \d and case by different tables.
func rustExpression(re *syntax.Regexp) string {
	// Leaves come first, then repetitions and groups, which are translated recursively.
	switch re.Op {
	case syntax.OpEmptyMatch:
		return "(?:)"
	case syntax.OpLiteral:
		var b strings.Builder
		for _, r := range re.Rune {
			b.WriteString(rustLiteral(r, re.Flags&syntax.FoldCase != 0))
		}
		return b.String()
	case syntax.OpCharClass:
		return rustClass(re.Rune)
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		return rustClass([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpBeginLine, syntax.OpBeginText:
		return `(?m:^)\x{FEFF}?`
	case syntax.OpEndLine, syntax.OpEndText:
		return `(?m:$)`
	case syntax.OpWordBoundary:
		return `(?-u:\b)`
	case syntax.OpNoWordBoundary:
		return `(?-u:\B)`
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return "(?:" + rustExpression(re.Sub[0]) + ")" + repetitionOf(re)
	case syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate:
		parts := make([]string, 0, len(re.Sub))
		for _, sub := range re.Sub {
			parts = append(parts, "(?:"+rustExpression(sub)+")")
		}
		if re.Op == syntax.OpAlternate {
			return strings.Join(parts, "|")
		}
		return strings.Join(parts, "")
	default:
		return "[]" // ripgrep refuses it, and the search is made without ripgrep
	}
}

// rustClass returns a class of characters, given as pairs of first and last.
func rustClass(pairs []rune) string {
	var b strings.Builder
	b.WriteString("[")
	invalid := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, lo, hi)
		if lo <= unicode.ReplacementChar && unicode.ReplacementChar <= hi {
			invalid = `(?-u:[\x80-\xFF])`
		}
	}
	b.WriteString("]")
	if invalid == "" {
		return b.String()
	}
	return "(?:" + b.String() + "|" + invalid + ")"
}

// rustLiteral returns a character, with fold in every case.
func rustLiteral(r rune, fold bool) string {
	pairs := []rune{r, r}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		pairs = append(pairs, f, f)
	}
	switch {
	case len(pairs) > 2 || r == unicode.ReplacementChar:
		return rustClass(pairs)
	case r < unicode.MaxASCII && r >= ' ':
		return regexp.QuoteMeta(string(r))
	default:
		return fmt.Sprintf(`\x{%X}`, r)
	}
}

// repetitionOf returns the repetitionOf operator of an expression.
func repetitionOf(re *syntax.Regexp) string {
	switch {
	case re.Op == syntax.OpStar:
		return "*"
	case re.Op == syntax.OpPlus:
		return "+"
	case re.Op == syntax.OpQuest:
		return "?"
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	default:
		return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
	}
}
