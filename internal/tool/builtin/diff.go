package builtin

import (
	"bytes"
	"fmt"
	"strings"

	"znkr.io/diff/textdiff"
)

const maxDiff = 64 << 10 // bytes of a diff that is shown

// unifiedDiff is the change in the form that OpenCode's clients show.
func unifiedDiff(path string, before, after []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Index: %s\n%s\n--- %s\n+++ %s\n", path, strings.Repeat("=", 67), path, path)
	if !bytes.Equal(before, after) {
		b.Write(textdiff.Unified(before, after))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// body is a diff without its header.
func body(diff string) string {
	_, rest, _ := strings.Cut(diff, "\n+++ ")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// changedLines is what a diff takes away and adds, wherever that is.
func changedLines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(body(diff)) {
		if line[0] == '+' || line[0] == '-' {
			b.WriteString(line)
		}
	}
	return b.String()
}

func countLines(diff string) (added, removed int) {
	for line := range strings.Lines(body(diff)) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// shortDiff is as much of a diff as is shown, cut at a line.
func shortDiff(diff string) string {
	if len(diff) <= maxDiff {
		return diff
	}
	added, removed := countLines(diff)
	return cutLines(diff, maxDiff) + fmt.Sprintf("\\ The rest of this diff is not shown; in all %d lines are added and %d removed.\n", added, removed)
}

// cutLines returns the first lines of a text, at most n bytes.
func cutLines(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:strings.LastIndexByte(text[:n], '\n')+1]
}
