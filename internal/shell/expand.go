package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansionsKnown reports that nothing in the node evaluates a text that may hold commands: bash runs substitutions
// that it finds in the values of variables when it does arithmetic, resolves a reference or expands a prompt. What
// stands in substitutions is looked at on its own.
func expansionsKnown(n syntax.Node) bool {
	ok := true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ArithmExp:
			ok = ok && numeric(n)
		case *syntax.ParamExp:
			ok = ok && paramKnown(n)
		case *syntax.Assign:
			ok = ok && (n.Index == nil || numericExpr(n.Index))
		case *syntax.ArrayElem:
			ok = ok && (n.Index == nil || numericExpr(n.Index))
		}
		return ok
	})
	return ok
}

func paramKnown(p *syntax.ParamExp) bool {
	switch {
	case p.Excl && p.Names == 0, p.Flags != nil, p.NestedParam != nil:
		return false
	case p.Index != nil && !numericExpr(p.Index) && !allElements(p.Index):
		return false
	case p.Slice != nil && !(numericOrNil(p.Slice.Offset) && numericOrNil(p.Slice.Length)):
		return false
	case p.Exp == nil:
		return true
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps: // ${x@P} expands what it finds
		return false
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return p.Param != nil && harmless(p.Param.Value)
	default:
		return true
	}
}

func allElements(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func numericOrNil(x syntax.ArithmExpr) bool { return x == nil || numericExpr(x) }

func numericExpr(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	if ok {
		return isNumber(w.Lit())
	}
	return numeric(x)
}

// numeric reports that all operands of the arithmetic in the node are numbers.
func numeric(n syntax.Node) bool {
	ok := true
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, isWord := n.(*syntax.Word); isWord {
			ok = ok && isNumber(w.Lit())
			return false
		}
		return ok
	})
	return ok
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 0, 64)
	return err == nil
}

// testEvaluates reports that a [[ ]] does arithmetic on something that is no number, or looks for a variable by a
// name that holds an expression.
func testEvaluates(t *syntax.TestClause) bool {
	evaluates := false
	syntax.Walk(t, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				evaluates = evaluates || !testNumber(n.X) || !testNumber(n.Y)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				w, ok := n.X.(*syntax.Word)
				evaluates = evaluates || !ok || !syntax.ValidName(w.Lit())
			}
		}
		return !evaluates
	})
	return evaluates
}

// testSplits reports a test or [ that may turn out to look for a variable by a name that holds an expression: what is
// not quoted may become several words, and the word behind an unknown one may be such a name.
func testSplits(args []*syntax.Word) bool {
	if name := wordText(args[0]); name != "test" && name != "[" {
		return false
	}
	for i, a := range args[1:] {
		if splits(a) {
			return true
		}
		if next := i + 2; !strings.HasPrefix(wordText(a), Hole) || next >= len(args) {
			continue
		} else if text := wordText(args[next]); !known(text) || strings.Contains(text, "[") {
			return true
		}
	}
	return false
}

// splits reports that the shell may make several words of it.
func splits(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p := p.(type) {
		case *syntax.CmdSubst:
			return true
		case *syntax.ParamExp:
			return !p.Length && !(p.Short && strings.Contains("?#$!", p.Param.Value))
		default:
			return false
		}
	})
}

func testNumber(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && isNumber(w.Lit())
}

// headKnown is expansionsKnown for the words of a case; what is done in it is looked at on its own.
func headKnown(n *syntax.CaseClause) bool {
	ok := expansionsKnown(n.Word)
	for _, item := range n.Items {
		for _, p := range item.Patterns {
			ok = ok && expansionsKnown(p)
		}
	}
	return ok
}

// coprocKnown reports that the coprocess is read as bash does: a name stands before compound commands only, and before
// redirections a word is the command.
func coprocKnown(c *syntax.CoprocClause) bool {
	call, simple := c.Stmt.Cmd.(*syntax.CallExpr)
	switch {
	case c.Stmt.Cmd == nil:
		return false
	case simple:
		return len(call.Assigns) == 0 || len(call.Args) == 0
	default:
		return c.Name == nil || harmless(wordText(c.Name))
	}
}
