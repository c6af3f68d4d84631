package file

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// applyChunks applies the chunks to content in order, each after the one before. Unchanged lines stay as they are in
// the file even if the patch writes them differently; new lines get the line end of the file; the last line gets a
// newline.
func applyChunks(path, content string, chunks []patchChunk) (string, error) {
	text, mark := strings.CutPrefix(content, workpath.BOM)
	eol := detectLineEnd(text)
	f := patchFile{lines: strings.Split(text, "\n")}
	if last := len(f.lines) - 1; f.lines[last] == "" {
		f.lines = f.lines[:last]
	} else if eol == "\r\n" {
		f.lines[last] = strings.TrimSuffix(f.lines[last], "\r") + "\r"
	}
	for _, c := range chunks {
		if err := f.placeChunk(path, c); err != nil {
			return "", err
		}
	}
	out := f.formatFile(strings.TrimSuffix(eol, "\n"))
	if mark {
		out = workpath.BOM + out
	}
	return out, nil
}

// patchFile is a file with the edits of a patch.
type patchFile struct {
	lines  []string // without \n, with the \r of the file
	cursor int      // the next chunk is searched from this line on
	edits  []patchEdit
}

// patchEdit replaces lines[at:at+n].
type patchEdit struct {
	at, n int
	lines []patchLine
}

// placeChunk finds the position of a chunk and adds its edit.
// The search begins behind the chunk before it (the cursor). The edit is only noted; the caller makes all edits at
// once.
func (f *patchFile) placeChunk(path string, c patchChunk) error {
	// A context line moves the cursor behind it.
	if c.context != "" {
		at := f.findLines([]string{c.context}, false)
		if at < 0 {
			return tool.Failf(
				"There is no line %q in %s%s. Read the file and give the line as it is.", c.context, path, f.describeCursor(),
			)
		}
		f.cursor = at + 1
	}
	// A chunk without old lines goes to the end of the file, also if it has a context line.
	old := c.oldLines()
	if len(old) == 0 {
		if len(c.lines) > 0 {
			f.edits = append(f.edits, patchEdit{len(f.lines), 0, c.lines})
		}
		return nil
	}
	// Models often end a chunk with a blank line that the file does not have: try without it.
	at := f.findLines(old, c.atEnd)
	if at < 0 {
		shorter, ok := c.withoutBlankEnd()
		if ok {
			c, old = shorter, shorter.oldLines()
			at = f.findLines(old, c.atEnd)
		}
	}
	if at < 0 {
		shown, _ := workpath.CutRunes(strings.Join(old, "\n"), 2000)
		return tool.Failf(
			"These lines are not in %s%s. Read the file and give the lines as they are:\n%s", path, f.describeCursor(), shown,
		)
	}
	// Note the edit; the next chunk is searched behind it.
	f.edits = append(f.edits, patchEdit{at, len(old), c.lines})
	f.cursor = at + len(old)
	return nil
}

func (f *patchFile) describeCursor() string {
	if f.cursor == 0 {
		return ""
	}
	return " behind the place before (chunks go from the top to the bottom)"
}

// oldLines returns the lines that the chunk expects in the file.
func (c patchChunk) oldLines() []string {
	var old []string
	for _, l := range c.lines {
		if l.op != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// withoutBlankEnd returns the chunk without a blank line at its end, by which models mean the end of the file.
func (c patchChunk) withoutBlankEnd() (patchChunk, bool) {
	lines := slices.Clone(c.lines)
	last := -1
	for i, l := range lines {
		if l.op != '+' {
			last = i
		}
	}
	if last < 0 || lines[last].text != "" || len(c.oldLines()) == 1 {
		return c, false
	}
	c.lines = slices.Delete(lines, last, last+1)
	return c, true
}

// findLines returns the first line from the cursor on at which want occurs, -1 if it does not. It compares exactly,
// then without white space at line ends, then around lines, then with normalized punctuation. With atEnd it tries the
// end of the file first.
func (f *patchFile) findLines(want []string, atEnd bool) int {
	for _, form := range []func(string) string{
		func(s string) string { return strings.TrimSuffix(s, "\r") },
		func(s string) string { return strings.TrimRight(s, " \t\r") },
		strings.TrimSpace,
		func(s string) string { return normalizePunctuation(strings.TrimSpace(s)) },
	} {
		if at := f.findLinesAs(form, want, atEnd); at >= 0 {
			return at
		}
	}
	return -1
}

func (f *patchFile) findLinesAs(form func(string) string, want []string, atEnd bool) int {
	formed := make([]string, len(want))
	for i, w := range want {
		formed[i] = form(w)
	}
	fits := func(at int) bool {
		for i, w := range formed {
			if form(f.lines[at+i]) != w {
				return false
			}
		}
		return true
	}
	last := len(f.lines) - len(want)
	if atEnd && last >= f.cursor && fits(last) {
		return last
	}
	for at := f.cursor; at <= last; at++ {
		if fits(at) {
			return at
		}
	}
	return -1
}

// normalizePunctuation replaces typographic dashes, quotes, dots and blanks by their ASCII forms.
func normalizePunctuation(s string) string {
	return strings.ReplaceAll(strings.Map(normalizeRune, s), "\u2026", "...")
}

func normalizeRune(r rune) rune {
	switch {
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r >= 0x2018 && r <= 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	case r == 0xA0, r >= 0x2002 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' '
	default:
		return r
	}
}

// formatFile returns the file with all edits; cr precedes the \n of new lines.
func (f *patchFile) formatFile(cr string) string {
	slices.SortStableFunc(f.edits, func(a, b patchEdit) int { return a.at - b.at })
	var b strings.Builder
	at := 0
	for _, e := range f.edits {
		for ; at < e.at; at++ {
			b.WriteString(f.lines[at] + "\n")
		}
		for _, l := range e.lines {
			if l.op == '+' {
				b.WriteString(l.text + cr + "\n")
				continue
			}
			if l.op == ' ' {
				b.WriteString(f.lines[at] + "\n")
			}
			at++
		}
	}
	for ; at < len(f.lines); at++ {
		b.WriteString(f.lines[at] + "\n")
	}
	return b.String()
}
