package builtin

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	maxTexts  = 16 // that one of must be in every match
	minText   = 3  // bytes; what is shorter is in most files
	maxSpread = 4  // characters of a class that are written out
)

// texts is what an expression says about text: one of some must be in every match.
type texts struct {
	any  []string
	fold bool // in any case
}

// shortest is the length of the shortest text, 0 when there is none.
func (t texts) shortest() int {
	if len(t.any) == 0 || len(t.any) > maxTexts {
		return 0
	}
	n := len(t.any[0])
	for _, s := range t.any {
		n = min(n, len(s))
	}
	return n
}

// plain reports whether every program that reads text finds these as we do, byte for byte.
func (t texts) plain() bool {
	for _, s := range t.any {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\n\uFEFF\uFFFD") || t.fold && !ascii([]byte(s)) {
			return false
		}
	}
	return t.shortest() >= minText
}

// textsOf returns texts one of which is in every match of the expression; none when nothing is known.
func textsOf(re *syntax.Regexp) texts {
	if all, ok := everyText(re); ok {
		return all
	}
	var best texts
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return textsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return textsOf(re.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			t := textsOf(sub)
			if t.shortest() == 0 {
				return texts{}
			}
			best.any, best.fold = append(best.any, t.any...), best.fold || t.fold
		}
	case syntax.OpConcat:
		for i := range re.Sub {
			for _, t := range []texts{textsOf(re.Sub[i]), runOf(re.Sub[i:])} {
				if t.shortest() > best.shortest() {
					best = t
				}
			}
		}
	}
	return best
}

// runOf returns the texts of what a sequence begins with, as far as these can be written out.
func runOf(seq []*syntax.Regexp) texts {
	run := texts{any: []string{""}}
	for _, re := range seq {
		next, ok := everyText(re)
		if !ok || len(run.any)*len(next.any) > maxTexts {
			break
		}
		run = run.then(next)
	}
	return run
}

// everyText writes out everything that an expression matches; ok is false when that is too much.
func everyText(re *syntax.Regexp) (t texts, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return texts{[]string{string(re.Rune)}, re.Flags&syntax.FoldCase != 0}, true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return texts{any: []string{""}}, true
	case syntax.OpCapture:
		return everyText(re.Sub[0])
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(t.any) == maxSpread {
					return texts{}, false
				}
				t.any = append(t.any, string(r))
			}
		}
		return t, len(t.any) > 0
	case syntax.OpConcat:
		t.any = []string{""}
		for _, sub := range re.Sub {
			next, ok := everyText(sub)
			if !ok || len(t.any)*len(next.any) > maxTexts {
				return texts{}, false
			}
			t = t.then(next)
		}
		return t, true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			next, ok := everyText(sub)
			if !ok || len(t.any)+len(next.any) > maxTexts {
				return texts{}, false
			}
			t.any, t.fold = append(t.any, next.any...), t.fold || next.fold
		}
		return t, true
	default:
		return texts{}, false
	}
}

// then is each text followed by each of the next.
func (t texts) then(next texts) texts {
	out := texts{fold: t.fold || next.fold}
	for _, a := range t.any {
		for _, b := range next.any {
			out.any = append(out.any, a+b)
		}
	}
	return out
}
