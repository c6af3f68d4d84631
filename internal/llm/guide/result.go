package guide

import (
	"regexp"
	"strconv"
	"strings"
)

// file is the result of one read.
type file struct {
	path     string
	lines    []line
	complete bool   // the last line of the file is among lines
	problem  string // why the file could not be read
}

type line struct {
	number int
	text   string
}

func (f file) lastLine() int { return f.lines[len(f.lines)-1].number }

func (f file) text() string {
	texts := make([]string, len(f.lines))
	for i, l := range f.lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}

// parseFile parses the result of the read tool: "number: text" lines and a remark about the end in parentheses. The
// entries of a directory and other text without line numbers are numbered from 1.
func parseFile(path string, o *outcome) file {
	f := file{path: path, complete: true}
	if o.failed {
		f.problem = quote(o.text)
		return f
	}
	var unnumbered []string
	for _, text := range contentLines(o.text) {
		before, after, found := strings.Cut(text, ": ")
		number, err := strconv.Atoi(strings.TrimSuffix(before, ":"))
		switch {
		case err == nil && (found || strings.HasSuffix(before, ":")) && (len(f.lines) == 0 || number > f.lastLine()):
			f.lines = append(f.lines, line{number, after})
		case strings.HasPrefix(text, "(") && strings.Contains(text, "offset="):
			f.complete = false
		case !strings.HasPrefix(text, "("):
			unnumbered = append(unnumbered, text)
		}
	}
	if len(f.lines) == 0 {
		for i, text := range unnumbered {
			f.lines = append(f.lines, line{i + 1, text})
		}
	}
	for len(f.lines) > 0 && f.lines[len(f.lines)-1].text == "" {
		f.lines = f.lines[:len(f.lines)-1]
	}
	return f
}

// contentLines splits the text of a result into lines without the tags around them and without empty ones.
func contentLines(text string) []string {
	var lines []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if l != "" && !strings.HasPrefix(l, "<") {
			lines = append(lines, l)
		}
	}
	return lines
}

// parsePaths parses the result of the glob tool: one path per line.
func (t *task) parsePaths(text string) []string {
	var paths []string
	for _, l := range contentLines(text) {
		if !strings.HasPrefix(l, "(") && l != "No files found" {
			paths = append(paths, t.relativePath(l))
		}
	}
	return paths
}

// match is one line that grep found.
type match struct {
	path string
	line
}

var matchLine = regexp.MustCompile(`^  Line (\d+): (.*)$`)

// parseMatches parses the result of the grep tool: a path with a colon, then its lines. more reports that the tool
// left some out.
func (t *task) parseMatches(text string) (matches []match, more bool) {
	path := ""
	for _, l := range contentLines(text) {
		if m := matchLine.FindStringSubmatch(l); m != nil {
			number, _ := strconv.Atoi(m[1])
			matches = append(matches, match{path, line{number, m[2]}})
			continue
		}
		more = more || strings.HasPrefix(l, "(")
		path = t.relativePath(strings.TrimSuffix(l, ":"))
	}
	return matches, more
}

// quote returns the beginning of a tool's message on one line, in quotation marks.
func quote(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "the tool gave no reason"
	}
	return "“" + shorten(s, 240) + "”"
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n])) + "…"
	}
	return s
}

// codeBlock quotes lines as a Markdown code block whose fence does not occur in them.
func codeBlock(lines []line) string {
	fence := "```"
	var body strings.Builder
	for _, l := range lines {
		for strings.Contains(l.text, fence) {
			fence += "`"
		}
		body.WriteString(l.text + "\n")
	}
	return fence + "\n" + body.String() + fence + "\n"
}
