package sdk_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

// The exported names of the library are those of testdata/api.txt, with their types and values, so that none changes
// unseen: a name that is removed or changed breaks programs. Each is documented, and has no type of an internal
// package.
func TestAPI(t *testing.T) {
	var api []string
	for _, dir := range []string{".", "embed", "cairntest"} {
		api = append(api, readAPI(t, dir)...)
	}
	got := strings.Join(api, "\n") + "\n"
	const file = "testdata/api.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the API differs from %s; if that is meant, run the test with -update:\n%s", file, diff)
	}
}

// readAPI returns the exported declarations of a package, one a line, sorted.
func readAPI(t *testing.T, dir string) (out []string) {
	t.Helper()
	files := token.NewFileSet()
	names, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(files, dir+"/"+name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			for _, text := range describeDecl(t, files, d) {
				if name := findInternal(parsed, text); name != "" {
					t.Errorf("%s exports a type of the internal package %s", text, name)
				}
				out = append(out, parsed.Name.Name+": "+text)
			}
		}
	}
	slices.Sort(out)
	return out
}

// findInternal returns the internal package that a declaration of the file names; "" without one.
func findInternal(file *ast.File, text string) string {
	for _, i := range file.Imports {
		imported := strings.Trim(i.Path.Value, `"`)
		name := path.Base(imported)
		if i.Name != nil {
			name = i.Name.Name
		}
		if strings.Contains(imported, "/internal/") && regexp.MustCompile(`\b`+name+`\.`).MatchString(text) {
			return imported
		}
	}
	return ""
}

// describeDecl returns the exported names that a declaration makes, and fails if one has no comment.
func describeDecl(t *testing.T, files *token.FileSet, d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !isExportedReceiver(d.Recv) {
			return nil
		}
		if d.Doc == nil && d.Name.Name != "isEventData" {
			t.Errorf("%s: %s has no comment", files.Position(d.Pos()), d.Name.Name)
		}
		return []string{print(files, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if d.Doc == nil && s.Doc == nil {
					t.Errorf("%s: %s has no comment", files.Position(s.Pos()), s.Name.Name)
				}
				out = append(out, describeType(files, s)...)
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					if d.Doc == nil && s.Doc == nil && s.Comment == nil {
						t.Errorf("%s: %s has no comment", files.Position(s.Pos()), name.Name)
					}
					text := d.Tok.String() + " " + name.Name
					if s.Type != nil {
						text += " " + print(files, s.Type)
					}
					if i < len(s.Values) { // it says the type of one without a type
						text += " = " + print(files, s.Values[i])
					}
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// describeType returns a type and its exported fields.
func describeType(files *token.FileSet, s *ast.TypeSpec) []string {
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return []string{"type " + s.Name.Name + " " + print(files, s.Type)}
	}
	out := []string{"type " + s.Name.Name + " struct"}
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 {
			out = append(out, "type "+s.Name.Name+" struct, embeds "+print(files, f.Type))
		}
		for _, name := range f.Names {
			if name.IsExported() {
				out = append(out, "type "+s.Name.Name+" struct, "+name.Name+" "+print(files, f.Type))
			}
		}
	}
	return out
}

func isExportedReceiver(r *ast.FieldList) bool {
	x := r.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	name, ok := x.(*ast.Ident)
	return ok && name.IsExported()
}

// print returns a node on one line, without comments.
func print(files *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, files, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
