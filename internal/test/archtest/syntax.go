package archtest

import (
	"go/ast"
	"strings"
)

// funcName returns f, T.m or (*T).m, as the walk writes it.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	star := false
	if s, ok := typ.(*ast.StarExpr); ok {
		typ, star = s.X, true
	}
	switch x := typ.(type) { // type parameters are not part of the name
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	name := "?"
	if id, ok := typ.(*ast.Ident); ok {
		name = id.Name
	}
	if star {
		name = "(*" + name + ")"
	}
	return name + "." + fn.Name.Name
}

// receiverName returns T of a method of T or *T.
func receiverName(fn *ast.FuncDecl) string {
	name, _, _ := strings.Cut(funcName(fn), ".")
	return strings.Trim(name, "(*)")
}

// importsAs reports whether name is the local name of an import of f (so name.Append is a function, not a method).
func importsAs(f *File, name string) bool {
	for _, spec := range f.AST.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if spec.Name != nil && spec.Name.Name == name {
			return true
		}
		if spec.Name == nil && p[strings.LastIndex(p, "/")+1:] == name {
			return true
		}
	}
	return false
}

// isSelector reports whether e is pkg.name.
func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}
