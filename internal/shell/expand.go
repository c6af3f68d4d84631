package shell

import (
	"strconv"

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

func testNumber(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && isNumber(w.Lit())
}

// headKnown is expansionsKnown for the words of a case and the name of a coprocess; their bodies are looked at on their
// own.
func headKnown(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CaseClause:
		ok := expansionsKnown(n.Word)
		for _, item := range n.Items {
			for _, p := range item.Patterns {
				ok = ok && expansionsKnown(p)
			}
		}
		return ok
	case *syntax.CoprocClause:
		return n.Name == nil || harmless(wordText(n.Name))
	default:
		return true
	}
}
