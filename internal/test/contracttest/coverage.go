package contracttest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// CheckCoverage checks that cairn's document promises everything that theirs does, except for what is known to be
// absent and what the file of exceptions lists. Each exception has a reason: the comment above it. A line may
// contain one *, for any text. Unused exceptions fail, too.
func CheckCoverage(t *testing.T, theirsFile string, ours []byte, exceptionsFile string, absent ...string) {
	t.Helper()
	theirs, err := os.ReadFile(theirsFile)
	if err != nil {
		t.Fatal(err)
	}
	lacks, err := FindMissing(theirs, ours)
	if err != nil {
		t.Fatal(err)
	}
	argued := readExceptions(t, exceptionsFile)
	used := map[string]bool{}
	for _, lack := range lacks {
		at := slices.IndexFunc(argued, func(line string) bool { return matchesException(line, lack) })
		if at >= 0 {
			used[argued[at]] = true
		} else if !slices.Contains(absent, lack) {
			t.Errorf("not in our document: %s", lack)
		}
	}
	for _, line := range argued {
		if !used[line] {
			t.Errorf("%s names %s, which is there: take the line out", exceptionsFile, line)
		}
	}
}

func matchesException(line, lack string) bool {
	before, after, many := strings.Cut(line, "*")
	return line == lack || many && strings.HasPrefix(lack, before) && strings.HasSuffix(lack, after)
}

// readExceptions reads the exceptions. An exception without a reason above it is an error.
func readExceptions(t *testing.T, file string) (lines []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reason := false
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason = false
		case line[0] == '#':
			reason = true
		case !reason:
			t.Errorf("%s gives no reason for %s", file, line)
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
