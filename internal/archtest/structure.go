package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const (
	maxPackage     = 5000 // lines without tests; always refused
	largePackage   = 3000 // lines without tests; more needs a reason in largePackages
	maxTypeMethods = 60   // methods of one type, those of embedded types included
)

// emptyEvent is the generic function of package session that its table of kinds instantiates per payload type.
const emptyEvent = "empty"

// largePackages may have more than largePackage lines, each with its reason.
var largePackages = map[string]string{
	"./bench":   "one driver with all measures; it is no part of the product",
	"cli/admin": "one command a file, for sessions, the inbox, jobs, permissions and the store",
	"cli/run":   "one prompt, the line mode and the start of the full screen: all put asks to the same terminal",
	"config":    "the syntax tree keeps the position of every value, for errors and explanations with file and line",
	"engine":    "the loop: coordinator, drain, turn and recovery; what they decide with is in packages below it",
	"host":      "wires everything: owner, client and relay, and one scope per location",
	"llm/wire":  "what five protocols share",
	"opencode":  "one data model in both directions; import and export depend on each other's form",
	"server/v1": "the handlers of 188 operations with their types",
	"server/v2": "the handlers of OpenCode's native contract with its streams",
	"session":   "the vocabulary: every event, message and rule",
	"tool/file": "four tools that share one plan of changes",
}

// wideInterfaces may have more than maxMethods methods, composed interfaces included, each with its own limit.
var wideInterfaces = map[string]int{
	"store.Reader":             12,
	"store.Tx":                 25,
	"engine/location.Worktree": 12,
}

// checkPackageSize refuses packages that have become two.
func checkPackageSize(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		n := p.countLines()
		switch {
		case n > maxPackage:
			out = append(out, newFinding(p.Name, "has %d lines, more than %d; it has become two packages", n, maxPackage))
		case n > largePackage && largePackages[p.Name] == "":
			out = append(out,
				newFinding(p.Name, "has %d lines, more than %d; split it, or give a reason in largePackages "+
					"(internal/archtest/structure.go)", n, largePackage))
		}
	}
	return out
}

// checkStalePackages finds exceptions of largePackages that are no longer needed.
func checkStalePackages(t *Tree) []Finding {
	var out []Finding
	for _, name := range sortedKeys(largePackages) {
		if p := t.Packages[name]; p == nil || p.countLines() <= largePackage {
			out = append(out, newFinding(name, "has at most %d lines; remove it from largePackages "+
				"(internal/archtest/structure.go)", largePackage))
		}
	}
	return out
}

// countLines returns the lines of the package without tests and generated files.
func (p *Package) countLines() int {
	n := 0
	for _, f := range p.Files {
		if !f.Test && !f.Generated {
			n += f.Lines
		}
	}
	return n
}

// typeIndex finds the declaration of a named type: "session.ID" or, within package session, "ID".
type typeIndex struct {
	specs   map[string]*ast.TypeSpec
	files   map[string]*File
	methods map[string]map[string]bool
}

func (t *Tree) indexTypes() typeIndex {
	x := typeIndex{map[string]*ast.TypeSpec{}, map[string]*File{}, map[string]map[string]bool{}}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, s := range typeSpecs(f) {
				x.specs[p.Name+"."+s.Name.Name], x.files[p.Name+"."+s.Name.Name] = s, f
			}
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Recv == nil {
					continue
				}
				name := p.Name + "." + receiverName(fn)
				if x.methods[name] == nil {
					x.methods[name] = map[string]bool{}
				}
				x.methods[name][fn.Name.Name] = true
			}
		}
	}
	return x
}

// resolve returns the index key of a type expression used in file f of package pkg; "" if the type is not ours.
func (x typeIndex) resolve(t *Tree, pkg string, f *File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return x.resolve(t, pkg, f, e.X)
	case *ast.IndexExpr:
		return x.resolve(t, pkg, f, e.X)
	case *ast.Ident:
		return pkg + "." + e.Name
	case *ast.SelectorExpr:
		id, ok := e.X.(*ast.Ident)
		if !ok {
			return ""
		}
		for _, spec := range f.AST.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			local := imp[strings.LastIndex(imp, "/")+1:]
			if spec.Name != nil {
				local = spec.Name.Name
			}
			if own, ok := t.ownPackage(imp); ok && local == id.Name {
				return own + "." + e.Sel.Name
			}
		}
	}
	return ""
}

// methodSet collects the methods that a value of the type offers, those of embedded types of the module included.
func (x typeIndex) methodSet(t *Tree, key string, seen map[string]bool) map[string]bool {
	set := map[string]bool{}
	spec := x.specs[key]
	if spec == nil || seen[key] {
		return set
	}
	seen[key] = true
	for m := range x.methods[key] {
		set[m] = true
	}
	pkg := key[:strings.LastIndex(key, ".")]
	embed := func(e ast.Expr) {
		if to := x.resolve(t, pkg, x.files[key], e); to != "" {
			for m := range x.methodSet(t, to, seen) {
				set[m] = true
			}
		}
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		for _, field := range typ.Fields.List {
			if len(field.Names) == 0 {
				embed(field.Type)
			}
		}
	case *ast.InterfaceType:
		for _, m := range typ.Methods.List {
			for _, name := range m.Names {
				set[name.Name] = true
			}
			if len(m.Names) == 0 {
				embed(m.Type)
			}
		}
	}
	return set
}

// checkMethodSets bounds what one value can do: at most maxTypeMethods methods of a type and maxMethods of an
// interface, embedded ones included.
func checkMethodSets(t *Tree) []Finding {
	var out []Finding
	x := t.indexTypes()
	for _, key := range sortedKeys(x.specs) {
		n := len(x.methodSet(t, key, map[string]bool{}))
		at := t.position(x.specs[key].Pos())
		if _, ok := x.specs[key].Type.(*ast.InterfaceType); !ok {
			if n > maxTypeMethods {
				out = append(out,
					newFinding(at, "%s has %d methods, embedded ones included, more than %d; give parts of it "+
						"types of their own", key, n, maxTypeMethods))
			}
			continue
		}
		if limit := max(maxMethods, wideInterfaces[key]); n > limit {
			out = append(out,
				newFinding(at, "interface %s has %d methods, embedded ones included, more than %d; ask for less, "+
					"or list it in wideInterfaces (internal/archtest/structure.go)", key, n, limit))
		}
		if limit, ok := wideInterfaces[key]; ok && n <= maxMethods {
			out = append(out,
				newFinding(at, "interface %s has %d methods and needs no limit of %d; remove it from wideInterfaces "+
					"(internal/archtest/structure.go)", key, n, limit))
		}
	}
	return out
}

// futureEvents have no producer yet, each with the feature that will append it.
var futureEvents = map[string]string{
	"Moved": "moving a session to another directory",
}

// checkProducers: every event kind in session's table of kinds is appended somewhere. A producer is a composite literal
// of the payload in the engine or in the log.
func checkProducers(t *Tree) []Finding {
	words := t.Packages["session"]
	if words == nil {
		return nil
	}
	events := map[string]string{} // payload type to its position in the table
	for _, f := range words.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if x, ok := n.(*ast.IndexExpr); ok && !f.Test {
				fn, isIdent := x.X.(*ast.Ident)
				if payload, ok := x.Index.(*ast.Ident); ok && isIdent && fn.Name == emptyEvent {
					events[payload.Name] = t.position(x.Pos())
				}
			}
			return true
		})
	}
	appended := map[string]bool{}
	for _, p := range t.sortedPackages() {
		if !inEngine(p.Name) && p.Name != "eventlog" {
			continue
		}
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok && !f.Test {
					if sel, ok := lit.Type.(*ast.SelectorExpr); ok && isSelector(sel, "session", sel.Sel.Name) {
						appended[sel.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	var out []Finding
	for _, name := range sortedKeys(events) {
		switch _, future := futureEvents[name]; {
		case !appended[name] && !future:
			out = append(out, newFinding(events[name],
				"event %s has no producer; append it, delete it, or name its feature in "+
					"futureEvents (internal/archtest/structure.go)", name))
		case appended[name] && future:
			out = append(out, newFinding(events[name], "event %s has a producer; remove it from futureEvents "+
				"(internal/archtest/structure.go)", name))
		}
	}
	return out
}

// listFileCycles finds references between files of one package that are part of a cycle, keyed by package. Files of a
// package should form layers: pure parts first, acts last.
func listFileCycles(t *Tree) map[string][]Finding {
	out := map[string][]Finding{}
	for _, p := range t.sortedPackages() {
		edges := t.fileEdges(p)
		for _, from := range sortedKeys(edges) {
			for _, to := range sortedKeys(edges[from]) {
				if hasPath(edges, to, from) {
					out[p.Name] = append(out[p.Name],
						Finding{At: edges[from][to], Text: "refers to " + to + ", which depends on " + from})
				}
			}
		}
	}
	return out
}

// fileEdges returns, per file of p, the files whose package-level identifiers it uses, each with one position.
//
// Without types a method call counts only if one file of the package declares a method of that name, no struct of the
// package has a field of that name, and the name is not one that the standard library's types have, too.
func (t *Tree) fileEdges(p *Package) map[string]map[string]string {
	homes := map[string][]string{} // identifier or ".method" to the files that declare it
	fields := map[string]bool{}
	std := wordSet(knownVerbs + knownNouns)
	for _, f := range p.Files {
		if f.Test || f.Generated {
			continue
		}
		for _, name := range declaredNames(f) {
			if homes[name] = append(homes[name], f.Path); strings.HasPrefix(name, ".") &&
				std[strings.ToLower(name[1:])] {
				fields[name] = true
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						fields["."+name.Name] = true
					}
				}
			}
			return true
		})
	}
	edges := map[string]map[string]string{}
	for _, f := range p.Files {
		if f.Test || f.Generated {
			continue
		}
		for _, use := range listUses(f) {
			home := slices.Compact(homes[use.name])
			if fields[use.name] || len(home) != 1 ||
				home[0] == f.Path { // a field, per platform, or not of this package
				continue
			}
			if edges[f.Path] == nil {
				edges[f.Path] = map[string]string{}
			}
			if edges[f.Path][home[0]] == "" {
				edges[f.Path][home[0]] = t.position(use.pos)
			}
		}
	}
	return edges
}

type identUse struct {
	name string // an identifier, or "." and the name of a field or method
	pos  token.Pos
}

// listUses lists the identifiers that f does not declare itself, and all selectors whose left side is not an import.
func listUses(f *File) []identUse {
	var out []identUse
	keys := map[*ast.Ident]bool{} // of composite literals: fields, as far as syntax tells
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok {
						keys[id] = true
					}
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); !ok || !importsAs(f, x.Name) {
				out = append(out, identUse{"." + n.Sel.Name, n.Sel.Pos()})
			}
		}
		return true
	})
	for _, id := range f.AST.Unresolved {
		if !keys[id] {
			out = append(out, identUse{id.Name, id.Pos()})
		}
	}
	return out
}

// declaredNames returns the package-level identifiers of f, methods as ".name".
func declaredNames(f *File) []string {
	var out []string
	for _, decl := range f.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				out = append(out, "."+d.Name.Name)
			} else {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out = append(out, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						out = append(out, id.Name)
					}
				}
			}
		}
	}
	return out
}

func hasPath(edges map[string]map[string]string, from, to string) bool {
	seen, queue := map[string]bool{from: true}, []string{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			return true
		}
		for next := range edges[at] {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}
