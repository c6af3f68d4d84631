package file

import (
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
)

const (
	anchorSimilarity = 0.65 // least average similarity of the lines between two anchors
	maxAnchored      = 200  // compared blocks
	maxCompared      = 2000 // bytes of two lines that are compared by edit distance
)

func findExact(content, old string, yield func(string) bool) {
	if strings.Contains(content, old) {
		yield(old)
	}
}

// findTrimmedLines finds lines that are equal except for white space around each.
func findTrimmedLines(content, old string, yield func(string) bool) {
	t := indexLines(content)
	want, newline := splitOld(old)
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	t.matchWindows(len(want), newline, func(first int) bool {
		for i, w := range want {
			if strings.TrimSpace(t.lineAt(first+i)) != w {
				return false
			}
		}
		return true
	}, yield)
}

// findAnchored finds the most similar block whose first and last line equal those of old. The number of its lines
// differs by at most a quarter.
func findAnchored(content, old string, yield func(string) bool) {
	want, newline := splitOld(old)
	if len(want) < 3 {
		return
	}
	t := indexLines(content)
	slack := max(1, len(want)/4)
	first, last := strings.TrimSpace(want[0]), strings.TrimSpace(want[len(want)-1])
	best, bestPiece, compared := anchorSimilarity, "", 0
	for i := range t.start {
		if strings.TrimSpace(t.lineAt(i)) != first {
			continue
		}
		for j := max(i+2, i+len(want)-1-slack); j <= i+len(want)-1+slack && j < len(t.start); j++ {
			if strings.TrimSpace(t.lineAt(j)) != last || compared == maxAnchored {
				continue
			}
			compared++
			if s := compareBlocks(t, i, j, want); s >= best && (s > best || bestPiece == "") {
				best, bestPiece = s, t.sliceLines(i, j, newline)
			}
		}
	}
	if bestPiece != "" {
		yield(bestPiece)
	}
}

// compareBlocks returns the average similarity of the lines between i and j and the inner lines of want; 1 is equal.
func compareBlocks(t lineIndex, i, j int, want []string) float64 {
	n := min(j-i-1, len(want)-2)
	if n <= 0 {
		return 1
	}
	sum := 0.0
	for k := 1; k <= n; k++ {
		sum += compareLines(strings.TrimSpace(t.lineAt(i+k)), strings.TrimSpace(want[k]))
	}
	return sum / float64(n)
}

func compareLines(a, b string) float64 {
	longest := max(len([]rune(a)), len([]rune(b)))
	switch {
	case a == b:
		return 1
	case len(a)+len(b) > maxCompared:
		return 0
	default:
		return 1 - float64(spelling.Levenshtein(a, b))/float64(longest)
	}
}

func collapseSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// findCollapsed finds text that is equal when every run of white space counts as one blank: whole lines, words within a
// line, or several lines.
func findCollapsed(content, old string, yield func(string) bool) {
	t := indexLines(content)
	want := collapseSpace(old)
	if want == "" {
		return
	}
	// Several lines: find windows of as many lines with equal text. Blank lines at an end must match blank lines,
	// so that an edit takes in or leaves out no line.
	lines, newline := splitOld(old)
	if len(lines) > 1 {
		last := len(lines) - 1
		t.matchWindows(len(lines), newline, func(first int) bool {
			if isBlank(t.lineAt(first)) != isBlank(lines[0]) || isBlank(t.lineAt(first+last)) != isBlank(lines[last]) {
				return false
			}
			return strings.HasPrefix(want, collapseSpace(t.lineAt(first))) &&
				collapseSpace(t.sliceLines(first, first+len(lines)-1, false)) == want
		}, yield)
		return
	}
	// One line: it may be a whole line, or words within one. Build a pattern of the words for the latter.
	words := strings.Fields(old)
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	re, err := regexp.Compile(strings.Join(words, `[ \t\r\f\v]+`))
	if err != nil {
		return
	}
	// Offer whole lines as they are, with their indentation; else only the words that match.
	for i := range t.start {
		if collapseSpace(t.lineAt(i)) == want {
			if !yield(t.sliceLines(i, i, newline)) {
				return
			}
			continue
		}
		if m := re.FindString(t.lineAt(i)); m != "" && !yield(m) {
			return
		}
	}
}

// findIndented finds lines that are equal after their common indentation is removed.
func findIndented(content, old string, yield func(string) bool) {
	t := indexLines(content)
	lines, newline := splitOld(old)
	want := removeIndent(strings.Join(lines, "\n"))
	begin := strings.TrimLeft(lines[0], " \t")
	t.matchWindows(len(lines), newline, func(first int) bool {
		return strings.TrimLeft(t.lineAt(first), " \t") == begin &&
			removeIndent(t.sliceLines(first, first+len(lines)-1, false)) == want
	}, yield)
}

// removeIndent removes the indentation that all lines except blank ones share.
func removeIndent(s string) string {
	lines := strings.Split(s, "\n")
	shared := -1
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n := len(l) - len(strings.TrimLeft(l, " \t")); shared < 0 || n < shared {
			shared = n
		}
	}
	if shared <= 0 {
		return s
	}
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = l[shared:]
		}
	}
	return strings.Join(lines, "\n")
}

// findUnescaped finds old with its escape sequences decoded, or text that equals old when its own are decoded.
func findUnescaped(content, old string, yield func(string) bool) {
	plain := unescapeText(old)
	if plain != old && strings.Contains(content, plain) && !yield(plain) {
		return
	}
	t := indexLines(content)
	lines, newline := splitOld(plain)
	t.matchWindows(len(lines), newline, func(first int) bool {
		return strings.HasPrefix(plain, unescapeText(t.lineAt(first))) &&
			unescapeText(t.sliceLines(first, first+len(lines)-1, newline)) == plain
	}, yield)
}

func unescapeText(s string) string {
	return strings.NewReplacer(
		`\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, `'`, `\"`, `"`, "\\`", "`", `\\`, `\`, `\$`, `$`, "\\\n", "\n",
	).Replace(s)
}

// findTrimmed finds old without the white space at its ends.
func findTrimmed(content, old string, yield func(string) bool) {
	want := strings.TrimSpace(old)
	if want == old || want == "" {
		return
	}
	if strings.Contains(content, want) && !yield(want) {
		return
	}
	t := indexLines(content)
	lines, newline := splitOld(old)
	t.matchWindows(len(lines), newline, func(first int) bool {
		return strings.TrimSpace(t.sliceLines(first, first+len(lines)-1, false)) == want
	}, yield)
}

// findContext finds a block with the line count, first line and last line of old, in which at least half of the other
// lines, without blank ones, are equal.
func findContext(content, old string, yield func(string) bool) {
	want, newline := splitOld(old)
	if len(want) < 3 {
		return
	}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	t := indexLines(content)
	t.matchWindows(len(want), newline, func(first int) bool {
		last := len(want) - 1
		if strings.TrimSpace(t.lineAt(first)) != want[0] || strings.TrimSpace(t.lineAt(first+last)) != want[last] {
			return false
		}
		same, counted := 0, 0
		for i := 1; i < last; i++ {
			line := strings.TrimSpace(t.lineAt(first + i))
			if line == "" && want[i] == "" {
				continue
			}
			counted++
			if line == want[i] {
				same++
			}
		}
		return counted == 0 || 2*same >= counted
	}, yield)
}
