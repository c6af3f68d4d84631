package archtest

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	packageName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

	// emptyNames say nothing about what is inside.
	emptyNames = []string{
		"util", "utils", "common", "base", "helper", "helpers", "manager", "service", "impl", "core",
		"misc", "types", "shared",
	}
)

// checkPackageNames: a package is named by one lower-case word, equal to its folder, that describes its content.
func checkPackageNames(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		base := path.Base(p.Dir)
		for _, f := range p.Files {
			name := strings.TrimSuffix(f.AST.Name.Name, "_test")
			switch {
			case name == "main":
				continue
			case p.Dir != "." && name != base:
				out = append(out, newFinding(f.Path, "package %s lives in folder %s; name them alike", name, base))
			case !packageName.MatchString(name):
				out = append(out, newFinding(f.Path, "package name %s is not one lower-case word", name))
			case slices.Contains(emptyNames, name):
				out = append(out, newFinding(f.Path, "package name %s says nothing; name it after the thing inside", name))
			}
		}
	}
	return out
}

// checkPackageDocs: each package has one doc comment, in the file of its own name.
func checkPackageDocs(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.isTestOnly() {
			continue
		}
		home := path.Join(p.Dir, path.Base(p.Dir)+".go")
		if p.Dir == "." {
			home = "main.go"
		}
		has := false
		for _, f := range p.Files {
			if f.AST.Doc == nil || f.Test {
				continue
			}
			has = has || f.Path == home
			if f.Path != home {
				out = append(out, newFinding(f.Path, "a package has one doc comment, in the file of its own name: %s", home))
			}
		}
		if !has {
			out = append(out, newFinding(p.Name, "has no package doc; write its contract in %s", home))
		}
	}
	return out
}

// verbs are the reserved words of docs/GLOSSARY.md with the packages in which they may be the name of an exported
// function or method. An empty list: any one package. The API client is not counted: it speaks the same words over
// the wire. Interfaces are not counted: they restate a method where it is consumed.
var verbs = map[string][]string{
	"Admit":     {"engine"},
	"Promote":   {"engine"},
	"Wake":      {"engine"},
	"Drain":     {"engine"},
	"Settle":    {"tool"}, // engine/settle.go starts it under another name
	"Append":    {"eventlog"},
	"Publish":   {"eventlog"},
	"Project":   {"projection"},
	"Apply":     {"session", "projection"}, // the fold, and the fold on rows: one meaning in two places
	"Replay":    {"eventlog"},
	"Tail":      {"eventlog"},
	"Reconcile": {"systemcontext"},
	"Compact":   {"engine/shrink"},
	"Revert":    {"engine"},
	"Ask":       {"store", "store/sqlstore", "store/storetest", "check"}, // the row; asking itself is tool.Call.Ask
	"Reply":     nil,
	"Lower":     nil,
	"Record":    nil,
}

// checkVerbs: a reserved verb is the name of an exported function or method in one package only.
func checkVerbs(t *Tree) []Finding {
	first := map[string]string{} // verb without a fixed home -> the package that has it
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.Name == "api" || p.Name == "archtest" {
			continue
		}
		for _, f := range p.Files {
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || f.Test {
					continue
				}
				verb := fn.Name.Name
				homes, reserved := verbs[verb]
				if !reserved {
					continue
				}
				if len(homes) == 0 {
					if first[verb] == "" {
						first[verb] = p.Name
					}
					homes = []string{first[verb]}
				}
				if !slices.Contains(homes, p.Name) {
					out = append(out, newFinding(t.position(fn.Pos()),
						"%s is a reserved verb and means what %s does; choose another "+
							"name, or add the home with its reason to verbs (internal/archtest/names.go)",
						verb, strings.Join(homes, " and ")))
				}
			}
		}
	}
	return out
}
