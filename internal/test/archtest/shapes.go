package archtest

import (
	"go/ast"
	"go/token"
	"slices"
)

const maxParams = 4 // after ctx; five are a struct

// statefulGlobals may hold state at package level, each with its reason.
var statefulGlobals = map[string]string{
	"fault": "a fault point is one atomic load in product code; there is no value to carry it",
}

// storedContexts are the structs that may hold a context, each with its reason.
var storedContexts = map[string]string{
	"engine.coordinator":  "the root of every drain: it ends when the engine closes, not when a caller leaves",
	"location/plugin.Set": "the life of a location's plugins: a start goes on for others when its caller leaves",
	"acp.agent":           "the life of a connection: sessions are followed until it ends, not until a request does",
	"sdk.Client":          "the life of a client: its calls end when it is closed",
	"host.locationCache":  "the life of loads of plugins: a load goes on for others when its caller leaves",
}

// initPackages are the packages that may have an init function, each with its reason.
var initPackages = map[string]string{
	"sdk/embed": "a program that embeds cairn is its own supervisor, whether its main knows that or not",
}

// checkShapes refuses init functions, contexts in structs, locks at package level, more than maxParams parameters, and
// tests that sleep on the real clock.
func checkShapes(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			if f.Test {
				out = append(out, t.findSleeps(f)...)
				continue
			}
			for _, decl := range f.AST.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					out = append(out, t.checkFunction(p, d)...)
				case *ast.GenDecl:
					out = append(out, t.checkDeclaration(p, d)...)
				}
			}
		}
	}
	return out
}

func (t *Tree) checkFunction(p *Package, fn *ast.FuncDecl) []Finding {
	var out []Finding
	if fn.Recv == nil && fn.Name.Name == "init" && initPackages[p.Name] == "" {
		out = append(out, newFinding(t.position(fn.Pos()), "init runs at import; call the code where it is needed"))
	}
	n := 0
	for _, field := range fn.Type.Params.List {
		_, variadic := field.Type.(*ast.Ellipsis) // what a format takes is no parameter list to get wrong
		if !variadic && !isSelector(field.Type, "context", "Context") {
			n += max(1, len(field.Names))
		}
	}
	if n > maxParams {
		out = append(out, newFinding(t.position(fn.Pos()), "%s takes %d parameters after ctx; make them a struct",
			funcName(fn), n))
	}
	return out
}

func (t *Tree) checkDeclaration(p *Package, d *ast.GenDecl) []Finding {
	var out []Finding
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			out = append(out, t.checkType(p, s)...)
		case *ast.ValueSpec:
			if holdsState(s) && statefulGlobals[p.Name] == "" {
				out = append(out, newFinding(t.position(s.Pos()),
					"state at package level has no owner; put it into the struct that "+
						"uses it"))
			}
		}
	}
	return out
}

func (t *Tree) checkType(p *Package, s *ast.TypeSpec) []Finding {
	var out []Finding
	ast.Inspect(s.Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if isSelector(field.Type, "context", "Context") && storedContexts[p.Name+"."+s.Name.Name] == "" {
					out = append(out, newFinding(t.position(field.Pos()),
						"%s keeps a context; pass it as the first parameter",
						s.Name.Name))
				}
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
			pkg.Name == "sync" && slices.Contains([]string{"Mutex", "RWMutex", "Map", "WaitGroup", "Once", "Cond"},
				sel.Sel.Name)
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

// findSleeps finds time.Sleep, and <-time.After outside a select, in a test file that does not use testing/synctest.
// A case of a select may wait for time.After: it is the time limit of the other cases.
func (t *Tree) findSleeps(f *File) []Finding {
	if slices.Contains(f.Imports, "testing/synctest") {
		return nil
	}
	// Note the receive operations of selects, which are visited before their parts.
	var out []Finding
	limits := map[ast.Expr]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			if e, ok := n.Comm.(*ast.ExprStmt); ok {
				limits[e.X] = true
			}
		case *ast.UnaryExpr:
			call, ok := n.X.(*ast.CallExpr)
			if ok && n.Op == token.ARROW && isSelector(call.Fun, "time", "After") && !limits[n] {
				out = append(out, newFinding(t.position(n.Pos()),
					"a test waits for <-time.After; wait for a signal, or use "+
						"testing/synctest"))
			}
		case *ast.SelectorExpr:
			if isSelector(n, "time", "Sleep") {
				out = append(out, newFinding(t.position(n.Pos()),
					"a test sleeps on the real clock; wait for a signal, or use "+
						"testing/synctest"))
			}
		}
		return true
	})
	return out
}
