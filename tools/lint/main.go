// Command lint is go vet's suite and what the house's linting adds to it and to staticcheck, as one vet tool, so that
// packages are loaded once:
//
//	go build -C tools -o ../bin/lint ./lint && go vet -vettool=bin/lint ./...
//
// As a vet tool it shares the build cache, so an unchanged package costs nothing. Every analyzer stands here with
// the reason why it is worth its noise. What was weighed and left out:
//
//   - sqlclosecheck, rowserrcheck: for database/sql, which archtest bans.
//   - nolintlint: there is no nolint here; staticcheck reports lint:ignore directives that match nothing.
//   - gochecksumtype: sealed interfaces have a test that feeds every kind to every switch.
//   - depguard, funlen, containedctx, gochecknoinits: internal/test/archtest, with the reasons beside the exceptions.
//   - golangci-lint itself: minutes of compilation to run a handful of analyzers that need seconds.
package main

import (
	"slices"

	"github.com/kisielk/errcheck/errcheck"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/reflectvaluecompare"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	suite := slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool {
		return a == scannererr.Analyzer // readers of lines end as what they read does; go vet of Go 1.26 does not ask either
	})
	unitchecker.Main(append(
		suite,
		sparing(errcheck.Analyzer),   // an error that nobody looks at is data lost in silence
		errorlint.NewAnalyzer(),      // errors are wrapped here, so == and type assertions miss them
		sparing(bodyclose.Analyzer),  // an unclosed body pins its connection, and provider streams live for minutes
		nilness.Analyzer,             // a check for nil after the use, or a path on which nil is certain
		reflectvaluecompare.Analyzer, // == on reflect.Value compares the header
		unusedwrite.Analyzer,         // a write to a copy that nobody reads is a change that never happened
	)...)
}
