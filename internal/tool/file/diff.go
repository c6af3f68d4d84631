package file

import (
	"bytes"
	"fmt"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxDiff     = 64 << 10 // bytes of a diff that are shown
	diffContext = 4        // lines around a change, as OpenCode shows them
)

// unifiedDiff returns the diff of a file in the form that OpenCode's clients show.
func unifiedDiff(path string, before, after []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Index: %s\n%s\n--- %s\n+++ %s\n", path, strings.Repeat("=", 67), path, path)
	if before, after = normalizeTexts(before, after); !bytes.Equal(before, after) {
		b.Write(zeroEmptyRanges(textdiff.Unified(before, after, diff.Context(diffContext))))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// normalizeTexts removes byte order marks and the carriage returns of line ends from both texts, unless the texts
// differ in nothing else.
func normalizeTexts(before, after []byte) ([]byte, []byte) {
	plain := func(text []byte) []byte {
		return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte(workpath.BOM)), []byte("\r\n"), []byte("\n"))
	}
	if x, y := plain(before), plain(after); !bytes.Equal(x, y) {
		return x, y
	}
	return before, after
}

// zeroEmptyRanges lets an empty range begin at line 0, as patch(1) and OpenCode write it. Only the first line of a diff
// can have one, for an empty text.
func zeroEmptyRanges(diff []byte) []byte {
	header, rest, _ := strings.Cut(string(diff), "\n")
	header = strings.Replace(header, "@@ -1,0 +", "@@ -0,0 +", 1)
	header = strings.Replace(header, " +1,0 @@", " +0,0 @@", 1)
	return []byte(header + "\n" + rest)
}

// diffBody returns a diff without its header.
func diffBody(diff string) string {
	_, rest, _ := strings.Cut(diff, "\n+++ ")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// changedLines returns the removed and added lines of a diff, without their positions.
func changedLines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diffBody(diff)) {
		if line[0] == '+' || line[0] == '-' {
			b.WriteString(line)
		}
	}
	return b.String()
}

func countChangedLines(diff string) (added, removed int) {
	for line := range strings.Lines(diffBody(diff)) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// truncateDiff returns the first lines of a diff, at most maxDiff bytes, and a note with the counts of the rest.
func truncateDiff(diff string) string {
	if len(diff) <= maxDiff {
		return diff
	}
	added, removed := countChangedLines(diff)
	return truncateLines(diff, maxDiff) + fmt.Sprintf(
		"\\ The rest of this diff is not shown; in all %d lines are added and %d removed.\n", added, removed,
	)
}

// truncateLines returns the first whole lines of a text, at most n bytes.
func truncateLines(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:strings.LastIndexByte(text[:n], '\n')+1]
}
