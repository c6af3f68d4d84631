// Command messages lists the messages that people can see, one per line with its position, so that they can be read in
// a row: error texts, help texts, flag descriptions and printed lines. Run it in the root of the repository:
//
//	go run -C tools ./messages ../internal/cli ../internal/location/config
//
// Without arguments it reads all of internal/. Tests and tables of package archtest are left out.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// messageCalls are functions and methods whose string arguments are messages, by the last part of their name.
var messageCalls = []string{
	"New", "Errorf", "Error", "Warn", "Info", "Println", "Printf", "Print", "Fprintln", "Fprintf", "Fprint", "Sprintf",
	"addWarning", "newError", "Fail", "StringVar", "BoolVar", "IntVar", "Int64Var", "Float64Var", "DurationVar",
	"StringVarP", "BoolVarP", "IntVarP", "StringArrayVar", "StringArrayVarP", "StringSliceVar", "Var", "VarP",
}

// messageFields are fields of composite literals that hold messages.
var messageFields = []string{"Short", "Long", "Example", "Use", "Message", "Usage", "Hint", "Reason", "Help", "Text"}

func main() {
	roots := os.Args[1:]
	if len(roots) == 0 {
		roots = []string{"../internal"}
	}
	for _, root := range roots {
		if err := list(root); err != nil {
			fmt.Fprintln(os.Stderr, "messages:", err)
			os.Exit(1)
		}
	}
}

// list prints the messages of all Go files below root.
func list(root string) error {
	fset := token.NewFileSet()
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "archtest"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if slices.Contains(messageCalls, calledName(n.Fun)) {
					for _, arg := range n.Args {
						printText(fset, arg)
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(messageFields, key.Name) {
					printText(fset, n.Value)
				}
			}
			return true
		})
		return nil
	})
}

// calledName returns the last part of a called function's name.
func calledName(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	default:
		return ""
	}
}

// printText prints a constant string of more than one word.
func printText(fset *token.FileSet, e ast.Expr) {
	text := constantText(e)
	if strings.ContainsRune(strings.TrimSpace(text), ' ') {
		fmt.Printf("%s: %s\n", fset.Position(e.Pos()), strings.Join(strings.Fields(text), " "))
	}
}

// constantText returns the text of a string literal or of a sum of literals; other operands become "…".
func constantText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		left, right := constantText(e.X), constantText(e.Y)
		if e.Op == token.ADD && left+right != "" {
			return orEllipsis(left) + orEllipsis(right)
		}
	}
	return ""
}

func orEllipsis(text string) string {
	if text == "" {
		return "…"
	}
	return text
}
