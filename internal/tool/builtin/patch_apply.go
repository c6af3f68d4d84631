package builtin

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

// patched returns the content with the chunks applied, in order, each behind the one before. Lines that stay are kept
// as they are in the file, however the patch spells them; new lines get the file's line end; the last line gets one.
func patched(path, content string, chunks []chunk) (string, error) {
	text, mark := strings.CutPrefix(content, bom)
	eol := lineEnd(text)
	f := patchFile{lines: strings.Split(text, "\n")}
	if last := len(f.lines) - 1; f.lines[last] == "" {
		f.lines = f.lines[:last]
	} else if eol == "\r\n" {
		f.lines[last] = strings.TrimSuffix(f.lines[last], "\r") + "\r"
	}
	for _, c := range chunks {
		if err := f.place(path, c); err != nil {
			return "", err
		}
	}
	out := f.assemble(strings.TrimSuffix(eol, "\n"))
	if mark {
		out = bom + out
	}
	return out, nil
}

// patchFile is a file with what is to be done to it.
type patchFile struct {
	lines  []string // without \n, with \r where the file has one
	cursor int      // the next chunk is looked for from here
	edits  []patchEdit
}

// patchEdit replaces lines[at:at+n].
type patchEdit struct {
	at, n int
	lines []patchLine
}

// place finds where a chunk belongs and notes what it does there.
func (f *patchFile) place(path string, c chunk) error {
	if c.context != "" {
		at := f.seek([]string{c.context}, false)
		if at < 0 {
			return tool.Failf("There is no line %q in %s%s. Read the file and give the line as it is.", c.context, path, f.behind())
		}
		f.cursor = at + 1
	}
	old := c.old()
	if len(old) == 0 {
		if len(c.lines) > 0 {
			f.edits = append(f.edits, patchEdit{len(f.lines), 0, c.lines})
		}
		return nil
	}
	at := f.seek(old, c.atEnd)
	if at < 0 {
		shorter, ok := c.withoutBlankEnd()
		if ok {
			c, old = shorter, shorter.old()
			at = f.seek(old, c.atEnd)
		}
	}
	if at < 0 {
		shown, _ := cutRunes(strings.Join(old, "\n"), 2000)
		return tool.Failf("These lines are not in %s%s. Read the file and give the lines as they are:\n%s", path, f.behind(), shown)
	}
	f.edits = append(f.edits, patchEdit{at, len(old), c.lines})
	f.cursor = at + len(old)
	return nil
}

func (f *patchFile) behind() string {
	if f.cursor == 0 {
		return ""
	}
	return " behind the place before (chunks go from the top to the bottom)"
}

// old are the lines that the chunk expects.
func (c chunk) old() []string {
	var old []string
	for _, l := range c.lines {
		if l.op != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// withoutBlankEnd is the chunk without a blank line at its end, which models take for the end of the file.
func (c chunk) withoutBlankEnd() (chunk, bool) {
	lines := slices.Clone(c.lines)
	last := -1
	for i, l := range lines {
		if l.op != '+' {
			last = i
		}
	}
	if last < 0 || lines[last].text != "" || len(c.old()) == 1 {
		return c, false
	}
	c.lines = slices.Delete(lines, last, last+1)
	return c, true
}

// seek returns the first place from the cursor on where the lines are, -1 if there is none: exactly, or else but for
// white space behind, around, or the form of punctuation. At the end of the file it looks first for what belongs there.
func (f *patchFile) seek(want []string, atEnd bool) int {
	for _, form := range []func(string) string{
		func(s string) string { return strings.TrimSuffix(s, "\r") },
		func(s string) string { return strings.TrimRight(s, " \t\r") },
		strings.TrimSpace,
		func(s string) string { return plainPunctuation(strings.TrimSpace(s)) },
	} {
		if at := f.seekAs(form, want, atEnd); at >= 0 {
			return at
		}
	}
	return -1
}

func (f *patchFile) seekAs(form func(string) string, want []string, atEnd bool) int {
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

// plainPunctuation writes dashes, quotes, dots and blanks the way keyboards do.
func plainPunctuation(s string) string {
	return strings.ReplaceAll(strings.Map(plain, s), "\u2026", "...")
}

func plain(r rune) rune {
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

// assemble writes the file with all edits done; cr ends new lines before the \n.
func (f *patchFile) assemble(cr string) string {
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
