package archtest

import (
	"go/ast"
	"strings"
)

// checkViews is law 3: v1 and v2 do not know each other, not even in tests, and the engine knows neither.
func checkViews(t *Tree) []Finding {
	forbidden := map[string][]string{
		"server/v1": {"server/v2"},
		"server/v2": {"server/v1", "opencode"},
		"engine":    {"server/v1", "server/v2", "opencode", "client/api"},
	}
	var out []Finding
	for _, p := range t.sortedPackages() {
		name := p.Name
		if inEngine(name) {
			name = "engine"
		}
		for _, to := range forbidden[name] {
			for _, test := range []bool{false, true} {
				if file := t.importEdges(p, test)[to]; file != "" {
					out = append(out, newFinding(file,
						"%s knows %s; the contracts do not know each other and the engine "+
							"knows neither: put the word into session and let each translate", p.Name, to))
				}
			}
		}
	}
	return out
}

// scopePackage is the package of the engine with what a turn takes from its location.
const scopePackage = "engine/scope"

// inEngine reports whether the package is the engine or one of its parts.
func inEngine(name string) bool { return name == "engine" || strings.HasPrefix(name, "engine/") }

// eventlogPackage is the only package that commits events.
const eventlogPackage = "record/eventlog"

// checkAppend is law 4: eventlog.Append is called by the engine only.
//
// Syntactic and therefore wider than the law: outside engine, eventlog and tests, a package that imports eventlog
// uses no selector .Append on a value, and no package but the record and the store declares an interface method of
// that name (through which a Log could be passed in).
func checkAppend(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		switch p.Name {
		case eventlogPackage, "record/store", "test/crashtest":
			continue
		}
		if inEngine(p.Name) {
			continue
		}
		knows := t.importEdges(p, false)[eventlogPackage] != ""
		for _, f := range p.Files {
			if !f.Test {
				out = append(out, t.findAppends(f, knows)...)
			}
		}
	}
	return out
}

func (t *Tree) findAppends(f *File, knows bool) []Finding {
	var out []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, isIdent := n.X.(*ast.Ident)
			if knows && n.Sel.Name == "Append" && (!isIdent || !importsAs(f, x.Name)) {
				out = append(out, newFinding(t.position(n.Sel.Pos()),
					"Append is the engine's; a session changes through an engine "+
						"method (surfaces get Follow and FollowAll)"))
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if len(m.Names) == 1 && m.Names[0].Name == "Append" {
					out = append(out, newFinding(t.position(m.Pos()),
						"an interface with Append would let a log in by the back "+
							"door; ask the engine for the change you want"))
				}
			}
		}
		return true
	})
	return out
}

// checkLocations is law 5: what a location offers knows neither the loop nor the log. It satisfies interfaces that the
// engine declares, or takes one of one method from host.
func checkLocations(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if !isIn(p.Name, "location") && !isIn(p.Name, "models") && !isDriver(p.Name) {
			continue
		}
		imports := t.importEdges(p, false)
		for _, to := range sortedKeys(imports) {
			if inEngine(to) && to != scopePackage || to == eventlogPackage {
				out = append(out, newFinding(imports[to],
					"%s imports %s; satisfy an interface of %s, or take a one-method interface from host",
					p.Name, to, scopePackage))
			}
		}
	}
	return out
}

// checkWords is law 6: session and llm import the standard library and the JSON module only, and not each other;
// fault imports the standard library only. Their tests may compare with go-cmp and friends, but not meet either.
func checkWords(t *Tree) []Finding {
	var out []Finding
	for _, name := range []string{"session", "llm", "fault"} {
		p := t.Packages[name]
		if p == nil {
			continue
		}
		for _, f := range p.Files {
			for _, imp := range f.Imports {
				if !wordsMayImport(t, f, name, imp) {
					out = append(out, newFinding(f.Path,
						"%s imports %s; words stand on the standard library and the JSON "+
							"module only, and session and llm do not know each other (the engine translates)", name, imp))
				}
			}
		}
	}
	return out
}

func wordsMayImport(t *Tree, f *File, name, imp string) bool {
	to, own := t.ownPackage(imp)
	switch {
	case own:
		return to == name // an external test package imports what it tests
	case isStd(imp), f.Test:
		return true
	default:
		return name != "fault" && (imp == jsonModule || strings.HasPrefix(imp, jsonModule+"/"))
	}
}

func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// checkTestLayer checks that the layer test is imported by tests only.
func checkTestLayer(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if isIn(p.Name, testLayer) {
			continue
		}
		imports := t.importEdges(p, false)
		for _, to := range sortedKeys(imports) {
			if isIn(to, testLayer) {
				out = append(out, newFinding(imports[to], "%s imports %s, which is for tests only", p.Name, to))
			}
		}
	}
	return out
}
