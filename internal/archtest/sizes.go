package archtest

import (
	"go/ast"
	"strings"
)

const (
	maxFunction = 80  // lines, from func to its brace
	maxFile     = 600 // lines
	maxImports  = 8   // packages of our own
)

// longFunctions may be longer than maxFunction, each with its reason: a flat switch or a table.
var longFunctions = map[string]string{}

// wideImports may import more of our own packages than maxImports.
var wideImports = map[string]string{
	"host":   "wires everything",
	"models": "brings the catalog, the configuration, the stored keys and the protocols together for the engine",
	"cli": "eight; peer and tui, for it is a client of OpenCode's contract too; transfer, which keeps that " +
		"contract's words out of it",
	"tool/exec":    "eight of the tools that run commands, and protected, which guards files while they run",
	"engine":       "eight, and fault: the points at which a test may kill it",
	"engine/title": "a title is a small turn of its own: its request is lowered, retried and recorded",
	"engine/command": "nine that every request needs to be validated and committed, and fault: the points at which a " +
		"test may kill it",
	"engine/shrink": "a compaction is planned, written, priced and recorded",
	"engine/ask":    "eight, and fault: the points at which a test may kill it",
	"cli/access":    "keys, trust and tokens are three files of rights, and each has its words",
	"cli/root":      "one tree of commands, whose groups are packages of their own",
	"cli/run":       "eight, and the two of the full-screen interface, which it opens",
	"tui":           "each component of the screen is a package of its own",
	"server":        "eight, and proctable, which knows the processes of tools",

	"server/nextrequest": "it builds the request of a turn from what a turn reads, and shows it in the words of the API",

	"server/v1": "eight; pty, for nothing of a terminal is stored, so that no door leads to it; openapi, which " +
		"describes the rest",
	"server/v2": "eight, and openapi, which describes the rest",
}

// checkSizes watches the tails. Tests and generated files are excepted; tables in tests are long.
func checkSizes(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			if f.Lines > maxFile {
				out = append(out, newFinding(f.Path,
					"has %d lines, more than %d; find the second concept in it and give that "+
						"a file", f.Lines, maxFile))
			}
			out = append(out, t.findLongFunctions(p, f)...)
		}
		if n := len(t.importEdges(p, false)); n > maxImports && wideImports[p.Name] == "" {
			out = append(out,
				newFinding(p.Name, "imports %d of our packages, more than %d; it knows too much, or it needs a "+
					"reason in wideImports (internal/archtest/sizes.go)", n, maxImports))
		}
	}
	return out
}

func (t *Tree) findLongFunctions(p *Package, f *File) []Finding {
	var out []Finding
	for _, decl := range f.AST.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || longFunctions[p.Name+"."+funcName(fn)] != "" {
			continue
		}
		if n := t.functionLength(fn); n > maxFunction {
			out = append(out, newFinding(t.position(fn.Pos()),
				"%s has %d lines, more than %d; find the second concept in it, or list "+
					"it with a reason in longFunctions (internal/archtest/sizes.go)", funcName(fn), n, maxFunction))
		}
	}
	return out
}

func (t *Tree) functionLength(fn *ast.FuncDecl) int {
	return t.Fset.Position(fn.End()).Line - t.Fset.Position(fn.Pos()).Line + 1
}

// checkStale finds exceptions of list (package.function to reason) that are no longer needed.
func checkStale(t *Tree, list map[string]string) []Finding {
	still := map[string]bool{}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && t.functionLength(fn) > maxFunction {
					still[p.Name+"."+funcName(fn)] = true
				}
			}
		}
	}
	var out []Finding
	for _, name := range sortedKeys(list) {
		pkg, _, _ := strings.Cut(name, ".")
		if t.Packages[pkg] != nil && !still[name] {
			out = append(out,
				newFinding(name, "is not long any more; take it out of longFunctions (internal/archtest/sizes.go)"))
		}
	}
	return out
}
