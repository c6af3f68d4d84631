package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Tree is the parsed source of one module. It is read-only after Load.
type Tree struct {
	FS       fs.FS
	Module   string // the module path of go.mod
	Fset     *token.FileSet
	Packages map[string]*Package // by short name: "store/sqlite" for internal/record/store/sqlite, "main" for the root
}

// Package is one folder with Go files.
type Package struct {
	Name  string // the short name
	Dir   string // relative to the module root
	Files []*File
}

// File is one Go file. Build constraints are not evaluated: the laws hold on every platform.
type File struct {
	Path      string // relative to the module root
	Test      bool
	Generated bool
	Lines     int
	Imports   []string
	Source    []byte
	AST       *ast.File
}

// Load parses the module whose root is fsys. Folders that start with "." or "_", testdata, and nested modules are
// left out.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("load tree: %w", err)
	}
	t := &Tree{FS: fsys, Module: modulePath(mod), Fset: token.NewFileSet(), Packages: map[string]*Package{}}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipDir(fsys, name)
		case path.Ext(name) != ".go":
			return nil
		}
		return t.add(name)
	})
	if err != nil {
		return nil, fmt.Errorf("load tree: %w", err)
	}
	return t, nil
}

func skipDir(fsys fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(name string) error {
	// Parse the file with its comments, which some checks read.
	src, err := fs.ReadFile(t.FS, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.Fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	f := &File{
		Path:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(parsed),
		Lines:     bytes.Count(src, []byte("\n")),
		Source:    src,
		AST:       parsed,
	}
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		f.Imports = append(f.Imports, p)
	}
	// Add it to the package of its folder.
	dir := path.Dir(name)
	short := shortName(dir)
	p := t.Packages[short]
	if p == nil {
		p = &Package{Name: short, Dir: dir}
		t.Packages[short] = p
	}
	p.Files = append(p.Files, f)
	return nil
}

// shortName turns a folder into the name that the floor table uses.
func shortName(dir string) string {
	if dir == "." {
		return "main"
	}
	if short, ok := strings.CutPrefix(dir, "internal/"); ok {
		return short
	}
	if dir == "sdk" || strings.HasPrefix(dir, "sdk/") { // no folder below internal/ has the name
		return dir
	}
	return "./" + dir // outside internal/: cannot be mistaken for a package of the house
}

// ownPackage returns the short name of an import path of this module.
func (t *Tree) ownPackage(importPath string) (string, bool) {
	if importPath == t.Module {
		return "main", true
	}
	dir, ok := strings.CutPrefix(importPath, t.Module+"/")
	if !ok {
		return "", false
	}
	return shortName(dir), true
}

// sortedPackages returns the packages in order of name, so that findings are stable.
func (t *Tree) sortedPackages() []*Package {
	out := make([]*Package, 0, len(t.Packages))
	for _, p := range t.Packages {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// position returns file:line of a position.
func (t *Tree) position(pos token.Pos) string {
	p := t.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// isTestOnly reports whether the package holds only tests: it cannot be imported, so it has no floor.
func (p *Package) isTestOnly() bool {
	for _, f := range p.Files {
		if !f.Test {
			return false
		}
	}
	return true
}

// importEdges returns the short names of our own packages that p imports, from its sources or from its tests, each with
// the first file that does so.
func (t *Tree) importEdges(p *Package, test bool) map[string]string {
	out := map[string]string{}
	for _, f := range p.Files {
		if f.Test != test {
			continue
		}
		for _, imp := range f.Imports {
			to, ok := t.ownPackage(imp)
			if ok && to != p.Name && out[to] == "" {
				out[to] = f.Path
			}
		}
	}
	return out
}

func modulePath(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
