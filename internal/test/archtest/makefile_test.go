package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeVariable  = regexp.MustCompile(`(?m)^(\w+) := (.*)$`)
	makeReference = regexp.MustCompile(`\$\((\w+)\)`)
	testFunction  = regexp.MustCompile(`(?m)^func Test(\w+)\(`)
	concurrency   = regexp.MustCompile(`\bgo (func\b|[\w.]+\()|\.Go\(|\bAfterFunc\(|\bhttptest\.|\bt\.Parallel\(`)
)

// TestNothingIsLeftOut checks the Makefile: what make test leaves out, make crash runs. The tests of LONG are in
// LONG_PACKAGES only, and the packages of SINGLE start no goroutines.
func TestNothingIsLeftOut(t *testing.T) {
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, m := range makeVariable.FindAllStringSubmatch(string(text), -1) {
		values[m[1]] = makeReference.ReplaceAllStringFunc(m[2], func(s string) string { return values[s[2:len(s)-1]] })
	}
	long, packages := regexp.MustCompile("^("+values["LONG"]+")$"), strings.Fields(values["LONG_PACKAGES"])
	single := strings.Fields(values["SINGLE"])
	found := 0
	err = filepath.WalkDir("../../../internal", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../../")
		for _, m := range testFunction.FindAllStringSubmatch(string(source), -1) {
			if !long.MatchString(m[1]) {
				continue
			}
			if found++; !slices.Contains(packages, dir) {
				t.Errorf("%s: make test leaves Test%s out, and make crash does not run it: rename it", dir, m[1])
			}
		}
		if name, ok := strings.CutPrefix(dir, "./internal/llm/"); ok && slices.Contains(single, name) {
			if s := concurrency.FindString(string(source)); s != "" {
				t.Errorf("%s: %q: the race detector has to run: take it from SINGLE", dir, s)
			}
		}
		return nil
	})
	if err != nil || found < 20 || len(single) == 0 {
		t.Errorf("%d tests of LONG, %d packages of SINGLE, %v", found, len(single), err)
	}
}
