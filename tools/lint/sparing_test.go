package main

import (
	"testing"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis/analysistest"
)

func TestSparing(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), sparing(errcheck.Analyzer), "a")
}
