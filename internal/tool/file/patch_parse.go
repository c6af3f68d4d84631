package file

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxPatch      = 4 << 20 // bytes of a patch
	maxPatchFiles = 200     // sections of a patch
)

// patchSection is one section of a patch: the change of one file.
type patchSection struct {
	kind    sectionKind
	path    string
	target  string // the new path of an updated file; "" if it is not moved
	content string // the content of an added file
	chunks  []patchChunk
}

type sectionKind byte

const (
	sectionAdd sectionKind = iota
	sectionDelete
	sectionUpdate
)

// patchChunk is one change in an updated file. The line context is searched first, then the lines that stay or go.
type patchChunk struct {
	context string
	lines   []patchLine
	atEnd   bool // the lines are at the end of the file
}

// patchLine is a line that stays (' '), goes ('-') or comes ('+').
type patchLine struct {
	op   byte
	text string
}

const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File:"
	patchDelete = "*** Delete File:"
	patchUpdate = "*** Update File:"
	patchMove   = "*** Move to:"
	patchEOF    = "*** End of File"
)

var heredoc = regexp.MustCompile(`^(?:cat\s+)?<<-?\s*['"]?(\w+)['"]?$`)

// unifiedRange matches the line range of a unified diff behind @@, which is ignored because models write wrong numbers.
var unifiedRange = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@`)

// parsePatch parses a patch in the apply_patch format. An error names the line; no part of an invalid patch is used.
func parsePatch(text string) ([]patchSection, error) {
	if len(text) > maxPatch {
		return nil, tool.Failf("The patch is %d bytes long, the limit is %d. Make several calls.", len(text), maxPatch)
	}
	r, err := findPatchBody(text)
	if err != nil {
		return nil, err
	}
	var hunks []patchSection
	for r.skipBlank(); !r.atEnd(); r.skipBlank() {
		h, err := r.readSection()
		if err != nil {
			return nil, err
		}
		if hunks = append(hunks, h); len(hunks) > maxPatchFiles {
			return nil, tool.Failf("The patch has more than %d sections. Make several calls.", maxPatchFiles)
		}
	}
	if len(hunks) == 0 {
		return nil, tool.Failf("The patch is empty: there is nothing between %q and %q.", patchBegin, patchEnd)
	}
	return hunks, nil
}

// patchReader reads the lines between the markers.
type patchReader struct {
	lines []string
	at    int
	first int // number of the first line in the patch, for messages
}

// findPatchBody finds the markers, also in a here document or between other text.
// It returns a reader of the lines between them. Exactly one patch is accepted: the sections of a second one would be
// ignored.
func findPatchBody(text string) (*patchReader, error) {
	// Normalize: byte order mark, line ends, and a here document around the whole text.
	text = strings.TrimSpace(strings.TrimPrefix(text, workpath.BOM))
	if text == "" {
		return nil, tool.Failf("patchText is empty.")
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	if m := heredoc.FindStringSubmatch(strings.TrimSpace(lines[0])); m != nil &&
		strings.TrimSpace(lines[len(lines)-1]) == m[1] {
		lines[0], lines[len(lines)-1] = "", ""
	}
	// Find the begin and the end; markers may have white space behind them.
	is := func(marker string) func(string) bool {
		return func(l string) bool { return strings.TrimRight(l, " \t") == marker }
	}
	begin := slices.IndexFunc(lines, is(patchBegin))
	if begin < 0 {
		return nil, tool.Failf(
			"The patch has no line %q. It must begin with that line and end with %q.", patchBegin, patchEnd,
		)
	}
	length := slices.IndexFunc(lines[begin+1:], is(patchEnd))
	if length < 0 {
		return nil, tool.Failf("The patch has no line %q behind %q. It may have been cut off.", patchEnd, patchBegin)
	}
	end := begin + 1 + length
	// A second begin, within the patch or behind it, is refused.
	if slices.ContainsFunc(lines[begin+1:end], is(patchBegin)) || slices.ContainsFunc(lines[end:], is(patchBegin)) {
		return nil, tool.Failf(
			"There are several patches in patchText. Put all sections between one %q and one %q.", patchBegin, patchEnd,
		)
	}
	return &patchReader{lines: lines[begin+1 : end], first: begin + 2}, nil
}

func (r *patchReader) atEnd() bool { return r.at >= len(r.lines) }

func (r *patchReader) skipBlank() {
	for !r.atEnd() && strings.TrimSpace(r.lines[r.at]) == "" {
		r.at++
	}
}

// readHeader consumes a line that begins with the marker and returns the rest of it.
func (r *patchReader) readHeader(marker string) (rest string, ok bool) {
	if r.atEnd() {
		return "", false
	}
	if rest, ok = strings.CutPrefix(r.lines[r.at], marker); ok {
		r.at++
	}
	return strings.TrimSpace(rest), ok
}

func (r *patchReader) failLine(format string, args ...any) error {
	return tool.Failf("Line %d of the patch: "+format, append([]any{r.first + min(r.at, len(r.lines)-1)}, args...)...)
}

func (r *patchReader) readSection() (patchSection, error) {
	for _, k := range []struct {
		marker string
		read   func(*patchSection) error
		kind   sectionKind
	}{
		{patchAdd, r.readAdded, sectionAdd},
		{patchDelete, func(*patchSection) error { return nil }, sectionDelete},
		{patchUpdate, r.readUpdated, sectionUpdate},
	} {
		path, ok := r.readHeader(k.marker)
		if !ok {
			continue
		}
		h := patchSection{kind: k.kind, path: path}
		if path == "" {
			r.at--
			return h, r.failLine("%q names no file.", k.marker)
		}
		return h, k.read(&h)
	}
	line, _ := workpath.CutRunes(r.lines[r.at], 80)
	return patchSection{}, r.failLine("%q is not %q, %q or %q.", line, patchAdd, patchDelete, patchUpdate)
}

// readAdded reads the lines of a new file. A blank line between them counts as one of them.
func (r *patchReader) readAdded(h *patchSection) error {
	var b strings.Builder
	blank := 0
	for ; !r.atEnd() && !r.atHeader(); r.at++ {
		line := r.lines[r.at]
		text, ok := strings.CutPrefix(line, "+")
		switch {
		case ok:
			b.WriteString(strings.Repeat("\n", blank) + text + "\n")
			blank = 0
		case strings.TrimSpace(line) == "":
			blank++
		default:
			return r.failLine("every line of an added file begins with +.")
		}
	}
	h.content = b.String()
	return nil
}

// atHeader reports whether the current line begins a section.
func (r *patchReader) atHeader() bool {
	l := r.lines[r.at]
	return strings.HasPrefix(l, patchAdd) || strings.HasPrefix(l, patchDelete) || strings.HasPrefix(l, patchUpdate)
}

func (r *patchReader) readUpdated(h *patchSection) error {
	if to, ok := r.readHeader(patchMove); ok {
		if h.target = to; to == "" {
			r.at--
			return r.failLine("%q names no file.", patchMove)
		}
	}
	for r.skipBlank(); !r.atEnd() && !r.atHeader(); r.skipBlank() {
		c, err := r.readChunk()
		if err != nil {
			return err
		}
		h.chunks = append(h.chunks, c)
	}
	if len(h.chunks) == 0 && h.target == "" {
		r.at--
		return r.failLine("the update of %s says nothing to change.", h.path)
	}
	return nil
}

// readChunk reads one chunk. The first chunk may lack the line with @@.
func (r *patchReader) readChunk() (patchChunk, error) {
	var c patchChunk
	if context, ok := r.readHeader("@@"); ok {
		if !unifiedRange.MatchString(context) {
			c.context = context
		}
	}
	for ; !r.atEnd() && !r.atHeader(); r.at++ {
		line := r.lines[r.at]
		switch {
		case strings.HasPrefix(line, patchEOF):
			c.atEnd = true
			r.at++
			return c.validate(r)
		case strings.HasPrefix(line, "@@"):
			return c.validate(r)
		case line == "":
			c.lines = append(c.lines, patchLine{' ', ""})
		case strings.IndexByte(" +-", line[0]) >= 0:
			c.lines = append(c.lines, patchLine{line[0], line[1:]})
		default:
			return c, r.failLine("a line of an update begins with a blank, + or -, and a new place with @@.")
		}
	}
	for n := len(c.lines); n > 0 && c.lines[n-1] == (patchLine{' ', ""}) && r.lines[r.at-1] == ""; n-- {
		c.lines, r.at = c.lines[:n-1], r.at-1 // blank lines before the next section do not belong to the file
	}
	return c.validate(r)
}

func (c patchChunk) validate(r *patchReader) (patchChunk, error) {
	if len(c.lines) == 0 && c.context == "" {
		r.at--
		return c, r.failLine("a place begins here, but no lines follow.")
	}
	return c, nil
}
