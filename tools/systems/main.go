// Command systems is go vet for systems on which no test runs: all packages and their tests are type-checked from
// source, as the compiler does first, and examined by go vet's suite. No code is generated: for the dependencies alone
// that takes minutes of each system.
//
//	go run -C tools ./systems darwin windows
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	for _, system := range os.Args[1:] {
		if err := check(system); err != nil {
			fmt.Fprintf(os.Stderr, "systems: %s: %v\n", system, err)
			os.Exit(1)
		}
		fmt.Printf("systems: %s ok\n", system)
	}
}

// check prints what it finds; the error is how many there are.
func check(system string) error {
	// Read all packages, with their tests.
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	all, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: root, Tests: true,
		Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return err
	}
	if n := packages.PrintErrors(all); n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	// Examine them.
	suite := slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool {
		return a == scannererr.Analyzer // as in lint
	})
	graph, err := checker.Analyze(suite, all, nil)
	if err != nil {
		return err
	}
	found := 0
	for _, root := range graph.Roots {
		found += len(root.Diagnostics)
	}
	if found > 0 {
		_ = graph.PrintText(os.Stderr, 0)
		return fmt.Errorf("%d findings", found)
	}
	return nil
}
