// Package patch reads patches in the unified format.
package patch

import (
	"regexp"
	"strconv"
	"strings"
)

// CountLines returns how many lines a patch in the unified format adds and removes.
func CountLines(patch string) (added, removed int) {
	for _, r := range Parse(patch) {
		switch r.Kind {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// IsEmpty reports whether a patch has the head of a file at most.
func IsEmpty(patch string) bool {
	for line := range strings.Lines(patch) {
		if !isFileHead(line) && !strings.HasPrefix(line, "=====") && !strings.HasPrefix(line, "+++ ") {
			return false
		}
	}
	return true
}

// Row is a line of a patch: of a hunk with its numbers in the files, or a heading.
type Row struct {
	Kind          byte // ' ', '+', '-', or '@' for a heading
	Before, After int  // 0 where the line is not
	Text          string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunk is the position in a hunk: the numbers of the next lines in the files, and how many lines of each are left.
type hunk struct{ before, after, beforeLeft, afterLeft int }

// parseHead returns the beginning of the hunk whose head the line is.
func parseHead(line string) (h hunk, ok bool) {
	m := hunkHead.FindStringSubmatch(line)
	if m == nil {
		return hunk{}, false
	}
	count := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil { // left out
			return 1
		}
		return n
	}
	return hunk{count(m[1]), count(m[3]), count(m[2]), count(m[4])}, true
}

// readRow returns the row of a line of the hunk.
func (h *hunk) readRow(line string) Row {
	if line == "" {
		line = " "
	}
	r := Row{Kind: line[0], Text: line[1:]}
	switch line[0] {
	case '+', '-', ' ':
	default: // "\ No newline at end of file"
		return Row{Kind: '@', Text: strings.TrimPrefix(line, "\\ ")}
	}
	if r.Kind != '+' {
		r.Before, h.before, h.beforeLeft = h.before, h.before+1, h.beforeLeft-1
	}
	if r.Kind != '-' {
		r.After, h.after, h.afterLeft = h.after, h.after+1, h.afterLeft-1
	}
	return r
}

// Parse returns the rows of the patch. Lines before the first hunk of a file are left out, but for its name if
// there are several files. A line that a hunk has room for belongs to it, although it looks like the head of a file.
func Parse(patch string) []Row {
	var rows []Row
	files := strings.Count("\n"+patch, "\n+++ ")
	inHunk, h := false, hunk{}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if next, ok := parseHead(line); ok {
			if inHunk {
				rows = append(rows, Row{Kind: '@', Text: "⋯"})
			}
			inHunk, h = true, next
			continue
		}
		if h.beforeLeft <= 0 && h.afterLeft <= 0 && isFileHead(line) {
			inHunk = false
		}
		if inHunk {
			rows = append(rows, h.readRow(line))
			continue
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok && files > 1 {
			rows = append(rows, Row{Kind: '@', Text: strings.TrimPrefix(name, "b/")})
		}
		if strings.HasPrefix(line, "Binary files ") {
			rows = append(rows, Row{Kind: '@', Text: line})
		}
	}
	return rows
}

// isFileHead reports whether the line may begin a file, where no hunk goes on.
func isFileHead(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Index: ")
}
