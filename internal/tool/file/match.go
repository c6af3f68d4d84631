package file

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

// maxTolerant bounds the content that the tolerant matchers search.
const maxTolerant = 2 << 20

// matcher yields pieces of content that correspond to old, until yield returns false.
type matcher struct {
	name  string // how the piece differs from old, for the model; "" for an exact match
	match func(content, old string, yield func(string) bool)
}

// listMatchers returns the listMatchers in the order in which they are tried, strictest first.
func listMatchers() []matcher {
	return []matcher{
		{"", findExact},
		{"in the white space around lines", findTrimmedLines},
		{"in lines between the first and the last", findAnchored},
		{"in white space", findCollapsed},
		{"in indentation", findIndented},
		{"in escape sequences", findUnescaped},
		{"in white space at the ends", findTrimmed},
		{"in some lines between the first and the last", findContext},
		{"", findExact}, // with replaceAll, every occurrence
	}
}

// replacement is the result of replaceText.
type replacement struct {
	content   string
	count     int
	tolerance string // how the replaced text differed from old, "" if it did not
}

// replaceText replaces old by newText in content: its only occurrence, or with all every occurrence. It fails if old is
// not found, not unique, or only found in a much larger piece.
func replaceText(content, old, newText string, all bool) (replacement, error) {
	// Try the matchers from exact to tolerant. The first that gives one clear piece wins.
	ambiguous, oversized := 0, false
	for i, f := range listMatchers() {
		// Tolerant matchers compare all lines; in a large file they would take seconds.
		if i > 0 && len(content) > maxTolerant {
			break
		}
		var done *replacement
		f.match(content, old, func(piece string) bool {
			// A matcher offers pieces of content. Taking one ends it; a piece that does not qualify lets it go on.
			at := strings.Index(content, piece)
			switch {
			case piece == "" || at < 0:
			case isOversized(piece, old):
				oversized = true
			case all:
				done = &replacement{strings.ReplaceAll(content, piece, newText), strings.Count(content, piece), f.name}
			// The same text is there twice. A more tolerant matcher may still offer a piece that is unique.
			case strings.LastIndex(content, piece) != at:
				ambiguous = max(ambiguous, strings.Count(content, piece), 2)
			default:
				done = &replacement{content[:at] + newText + content[at+len(piece):], 1, f.name}
			}
			return done == nil
		})
		if done != nil {
			return *done, nil
		}
	}
	// Nothing matched: name the obstacle that the model can remove.
	switch {
	case ambiguous > 0:
		return replacement{}, tool.Failf(
			"Found multiple matches for oldString (%d). Add surrounding lines to make it unique, or set replaceAll.", ambiguous,
		)
	case oversized:
		return replacement{}, tool.Failf(
			"oldString was found only in a stretch of text much larger than itself, which was not replaced. Read the " +
				"file again and give the exact text.",
		)
	default:
		return replacement{}, tool.Failf(
			"Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.",
		)
	}
}

// isOversized reports whether a piece is so much larger than old that it is a wrong match.
func isOversized(piece, old string) bool {
	pieceLines, oldLines := strings.Count(piece, "\n")+1, strings.Count(old, "\n")+1
	if pieceLines >= max(oldLines+3, 2*oldLines) {
		return true
	}
	p, o := len(strings.TrimSpace(piece)), len(strings.TrimSpace(old))
	return pieceLines > 1 && p > max(o+500, 4*o)
}

// lineIndex is a content with the positions of its lines. Line i is content[start[i]:end[i]], without the newline.
type lineIndex struct {
	content    string
	start, end []int
}

func indexLines(content string) lineIndex {
	t := lineIndex{content: content}
	for at := 0; ; {
		i := strings.IndexByte(content[at:], '\n')
		t.start = append(t.start, at)
		if i < 0 {
			t.end = append(t.end, len(content))
			return t
		}
		t.end = append(t.end, at+i)
		at += i + 1
	}
}

func (t lineIndex) lineAt(i int) string { return t.content[t.start[i]:t.end[i]] }

// sliceLines returns the lines i to j, with newline including the line end of j if it has one.
func (t lineIndex) sliceLines(i, j int, newline bool) string {
	end := t.end[j]
	switch {
	case end == len(t.content):
	case newline:
		end++
	case end > t.start[j] && t.content[end-1] == '\r': // the carriage return belongs to the line end
		end--
	}
	return t.content[t.start[i]:end]
}

// matchWindows yields each run of n lines for which fits is true.
func (t lineIndex) matchWindows(n int, newline bool, fits func(first int) bool, yield func(string) bool) {
	for i := 0; i+n <= len(t.start); i++ {
		if fits(i) && !yield(t.sliceLines(i, i+n-1, newline)) {
			return
		}
	}
}

// splitOld splits old into lines and reports whether it ends with a newline.
func splitOld(old string) (lines []string, newline bool) {
	trimmed, newline := strings.CutSuffix(old, "\n")
	return strings.Split(trimmed, "\n"), newline
}

func (r replacement) String() string {
	s := "Edit applied successfully."
	if r.count > 1 {
		s += fmt.Sprintf(" %d occurrences were replaced.", r.count)
	}
	if r.tolerance != "" {
		s += " The replaced text differed from oldString " + r.tolerance + "."
	}
	return s
}
