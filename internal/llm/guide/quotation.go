package guide

import (
	"fmt"
	"slices"
	"strings"
)

// quotation is text of a file with the numbers of its first and last line.
type quotation struct {
	text        string
	first, last int
}

func (q quotation) citationFor(path string) string { return formatCitation(path, q.first, q.last) }

func formatCitation(path string, first, last int) string {
	if first == last {
		return fmt.Sprintf("%s:%d", path, first)
	}
	return fmt.Sprintf("%s:%d-%d", path, first, last)
}

// add appends a line to the quotation.
func (q *quotation) add(text string, number int) {
	if q.text == "" {
		q.text, q.first = text, number
	} else {
		q.text += " " + text
	}
	q.last = number
}

// readmeSummary returns the title of a README and its first paragraph of prose: no badges, HTML or code.
func readmeSummary(f file) (title, paragraph quotation) {
	isCode := false
	for _, l := range f.lines {
		text := strings.TrimSpace(l.text)
		heading := strings.TrimSpace(strings.TrimLeft(text, "#"))
		if strings.HasPrefix(text, "```") {
			isCode = !isCode
			continue
		}
		switch {
		case isCode || strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[!") || strings.HasPrefix(text, "!["):
		case heading != text && heading != "":
			if paragraph.text != "" {
				return title, paragraph
			}
			if title.text == "" {
				title.add(heading, l.number)
			}
		case text == "" || strings.Trim(text, "=-") == "":
			if paragraph.text != "" {
				return title, paragraph
			}
		default:
			paragraph.add(text, l.number)
		}
	}
	return title, paragraph
}

// firstShellBlock returns the first code block of a README that is marked as shell.
func firstShellBlock(f file) []line {
	var block []line
	isShell := false
	for _, l := range f.lines {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(l.text), "```")
		switch {
		case isFence && isShell:
			return block
		case isFence:
			isShell = mark == "sh" || mark == "bash" || mark == "shell" || mark == "console"
		case isShell && len(block) < 12:
			block = append(block, l)
		}
	}
	return nil
}

// firstComment returns the first sentence of the comment before the code, unless that is a licence.
func firstComment(lines []line) quotation {
	var q quotation
	for _, l := range lines {
		text := strings.TrimSpace(l.text)
		isComment := slices.ContainsFunc(commentMarkers, func(m string) bool { return strings.HasPrefix(text, m) })
		switch words := strings.Trim(text, "/*#-;\"' "); {
		case strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "//go:"):
		case isComment && words != "":
			q.add(words, l.number)
		case isComment:
		case q.text != "" && !isLicence(q.text):
			q.text = firstSentence(q.text)
			return q
		case text != "":
			return quotation{}
		default:
			q = quotation{}
		}
	}
	return quotation{}
}

var commentMarkers = []string{"//", "/*", "*", "#", "--", `"""`, "'''", ";"}

func isLicence(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "copyright") || strings.Contains(text, "spdx-") || strings.Contains(text, "licensed")
}

func firstSentence(text string) string {
	if sentence, _, found := strings.Cut(text, ". "); found {
		return sentence + "."
	}
	return text
}
