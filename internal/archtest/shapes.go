package archtest

import (
	"go/ast"
	"slices"
)

const (
	maxParams  = 4  // after ctx; five are a struct
	maxMethods = 10 // spelled out in one interface; composed ones are counted by their parts
)

// statefulGlobals may hold state at package level, each with its reason.
var statefulGlobals = map[string]string{
	"fault": "a fault point is one atomic load in product code; there is no value to carry it",
}

// storedContexts are the structs that may hold a context, each with its reason.
var storedContexts = map[string]string{
	"engine.coordinator": "the root of every drain: it ends when the engine closes, not when a caller leaves",
}

// checkShapes holds what is always refused: init functions, contexts in structs, locks at package level, five
// parameters, interfaces of eleven methods, and tests that sleep on the real clock.
func checkShapes(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sorted() {
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			if f.Test {
				out = append(out, t.sleeps(f)...)
				continue
			}
			for _, decl := range f.AST.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					out = append(out, t.funcShape(d)...)
				case *ast.GenDecl:
					out = append(out, t.declShape(p, d)...)
				}
			}
		}
	}
	return out
}

func (t *Tree) funcShape(fn *ast.FuncDecl) []Finding {
	var out []Finding
	if fn.Recv == nil && fn.Name.Name == "init" {
		out = append(out, found(t.at(fn.Pos()), "init runs behind everybody's back; call it where it is needed"))
	}
	n := 0
	for _, field := range fn.Type.Params.List {
		_, variadic := field.Type.(*ast.Ellipsis) // what a format takes is no parameter list to get wrong
		if !variadic && !isSelector(field.Type, "context", "Context") {
			n += max(1, len(field.Names))
		}
	}
	if n > maxParams {
		out = append(out, found(t.at(fn.Pos()), "%s takes %d parameters after ctx; make them a struct", funcName(fn), n))
	}
	return out
}

func (t *Tree) declShape(p *Package, d *ast.GenDecl) []Finding {
	var out []Finding
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			out = append(out, t.typeShape(p, s)...)
		case *ast.ValueSpec:
			if holdsState(s) && statefulGlobals[p.Name] == "" {
				out = append(out, found(t.at(s.Pos()), "state at package level has no owner; put it into the struct that "+
					"uses it"))
			}
		}
	}
	return out
}

func (t *Tree) typeShape(p *Package, s *ast.TypeSpec) []Finding {
	var out []Finding
	ast.Inspect(s.Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if isSelector(field.Type, "context", "Context") && storedContexts[p.Name+"."+s.Name.Name] == "" {
					out = append(out, found(t.at(field.Pos()), "%s keeps a context; pass it as the first parameter",
						s.Name.Name))
				}
			}
		case *ast.InterfaceType:
			methods := 0
			for _, m := range n.Methods.List {
				methods += len(m.Names)
			}
			if methods > maxMethods {
				out = append(out, found(t.at(n.Pos()), "%s has %d methods; compose it of small ones", s.Name.Name, methods))
			}
		}
		return true
	})
	return out
}

// holdsState says whether a package-level variable is a lock or an atomic.
func holdsState(s *ast.ValueSpec) bool {
	is := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return false
		}
		return pkg.Name == "atomic" ||
			pkg.Name == "sync" && slices.Contains([]string{"Mutex", "RWMutex", "Map", "WaitGroup", "Once", "Cond"}, sel.Sel.Name)
	}
	typ := s.Type
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	if is(typ) {
		return true
	}
	for _, v := range s.Values {
		if lit, ok := v.(*ast.CompositeLit); ok && is(lit.Type) {
			return true
		}
	}
	return false
}

// sleeps finds time.Sleep in a test file that has no bubble of testing/synctest to sleep in.
func (t *Tree) sleeps(f *File) []Finding {
	if slices.Contains(f.Imports, "testing/synctest") {
		return nil
	}
	var out []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if e, ok := n.(*ast.SelectorExpr); ok && isSelector(e, "time", "Sleep") {
			out = append(out, found(t.at(e.Pos()), "a test sleeps on the real clock; wait for a signal, or use "+
				"testing/synctest"))
		}
		return true
	})
	return out
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}
