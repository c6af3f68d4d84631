package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const (
	maxFunction = 80  // lines, from func to its brace
	maxFile     = 600 // lines
)

// checkSizes refuses long functions and files. Tests and generated files are excepted; tables in tests are long.
func checkSizes(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			if f.Lines > maxFile {
				out = append(out, newFinding(f.Path,
					"has %d lines, more than %d; find the second concept in it and give that a file", f.Lines, maxFile))
			}
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := t.functionLength(fn); n > maxFunction {
					out = append(out, newFinding(t.position(fn.Pos()),
						"%s has %d lines, more than %d; find the second concept in it", funcName(fn), n, maxFunction))
				}
			}
		}
	}
	return out
}

func (t *Tree) functionLength(fn *ast.FuncDecl) int {
	return t.Fset.Position(fn.End()).Line - t.Fset.Position(fn.Pos()).Line + 1
}

// describeSizes reports the largest packages in lines without tests, and the types with the most methods, embedded ones
// not included. No size of either is refused: a reader decides when one has become two.
func describeSizes(t *Tree) string {
	lines, methods := map[string]int{}, map[string]int{}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			lines[p.Name] += f.Lines
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
					methods[p.Name+"."+receiverName(fn)]++
				}
			}
		}
	}
	return "lines: " + describeLargest(lines) + "\nmethods: " + describeLargest(methods)
}

// describeLargest lists the ten largest counts.
func describeLargest(counts map[string]int) string {
	names := sortedKeys(counts)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var out []string
	for _, name := range names[:min(10, len(names))] {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(out, ", ")
}

// describeEngine lists the imports between the packages of the engine.
func describeEngine(t *Tree) string {
	var out []string
	for _, p := range t.sortedPackages() {
		if !inEngine(p.Name) {
			continue
		}
		var below []string
		for _, to := range sortedKeys(t.importEdges(p, false)) {
			if inEngine(to) {
				below = append(below, to)
			}
		}
		out = append(out, p.Name+": "+strings.Join(below, " "))
	}
	return strings.Join(out, "\n")
}
