package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// sparing returns a with three kinds of findings left out: those in tests, where an unlooked-at error shows as a
// failed expectation; those in the benchmarks, whose readers close what they are handed in goroutines that the
// analyzers do not follow; and those on a deferred Close. A writer checks its Close on the way out; the deferred one
// is for the paths that have already failed and for readers.
func sparing(a *analysis.Analyzer) *analysis.Analyzer {
	out := *a
	out.Run = func(pass *analysis.Pass) (any, error) {
		p := *pass
		p.Report = func(d analysis.Diagnostic) {
			if !spared(pass, d.Pos) {
				pass.Report(d)
			}
		}
		return a.Run(&p)
	}
	return &out
}

func spared(pass *analysis.Pass, pos token.Pos) bool {
	name := pass.Fset.Position(pos).Filename
	if strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(name), "/bench/") {
		return true
	}
	for _, file := range pass.Files {
		if file.FileStart <= pos && pos < file.FileEnd {
			return inDeferredClose(file, pos)
		}
	}
	return false
}

func inDeferredClose(file *ast.File, pos token.Pos) bool {
	is := false
	ast.Inspect(file, func(n ast.Node) bool {
		d, ok := n.(*ast.DeferStmt)
		if !ok || pos < d.Pos() || d.End() <= pos {
			return !is
		}
		if sel, ok := d.Call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Close" {
			is = true
		}
		return !is
	})
	return is
}
