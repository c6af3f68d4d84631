package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	scanBuffer   = 1 << 20 // bytes searched at a time; a longer line is searched in pieces
	maxGrepLine  = 2000    // characters shown of a line
	maxPattern   = 16 << 10
	minPrefilter = 2 // bytes of a fixed text that is searched for first
)

// query is a compiled search expression. It matches within lines. Safe for concurrent use.
type query struct {
	re      *regexp.Regexp
	tree    *syntax.Regexp // of re
	text    []byte         // contained in every match, in lower case if fold; nil if no such text is known
	fold    bool
	include *filePattern
	glob    string    // the include pattern, if ripgrep understands it the same way; else ""
	buffers sync.Pool // of *buffers
}

// buffers are the buffers for searching one file.
type buffers struct {
	block []byte
	lower []byte // the block in lower case; nil unless case is ignored
}

// newQuery compiles the pattern and the include pattern. It also derives what speeds up the search: a text that every
// match contains, and whether ripgrep understands the include pattern. Its errors are for the model.
func newQuery(pattern, include string) (*query, error) {
	if len(pattern) > maxPattern {
		return nil, tool.Failf("The pattern is %d bytes long, the limit is %d.", len(pattern), maxPattern)
	}
	// Perl's syntax, but ^ and $ match at each line.
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, failPattern(pattern, err)
	}
	withoutNewlines(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, failPattern(pattern, err)
	}
	// Blocks without the required text are skipped without the regular expression.
	q := &query{re: re, tree: tree}
	q.text, q.fold = requiredText(tree)
	// Searchers run in parallel; each takes buffers of its own. The second one holds the lower-case text.
	q.buffers.New = func() any {
		b := &buffers{block: make([]byte, scanBuffer)}
		if q.fold {
			b.lower = make([]byte, scanBuffer)
		}
		return b
	}
	// Files are filtered by cairn; ripgrep gets the pattern as well only if both would select the same files.
	if include != "" {
		f, err := newFilePattern(include)
		if err != nil {
			return nil, err
		}
		q.include = &f
		if simpleInclude.MatchString(include) {
			q.glob = include
		}
	}
	return q, nil
}

func failPattern(pattern string, err error) error {
	why := err.Error()
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		why = se.Code.String() + ": " + se.Expr
	}
	return tool.Failf(
		"The pattern %q is not a regular expression in RE2 syntax (%s). Escape literal brackets and dots with a "+
			"backslash; look-around and back-references do not exist.", pattern, why,
	)
}

// withoutNewlines changes the expression so that it never matches a newline: then every match lies within a line, and a
// block of many lines can be searched at once. A line end may include a carriage return.
func withoutNewlines(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		re.Rune = excludeRune(re.Rune, '\n')
	case syntax.OpLiteral:
		if strings.ContainsRune(string(re.Rune), '\n') {
			re.Op, re.Rune, re.Sub = syntax.OpNoMatch, nil, nil
		}
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText, syntax.OpEndLine:
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		end := &syntax.Regexp{Op: syntax.OpEndLine}
		*re = syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}, end}}
		return
	}
	for _, sub := range re.Sub {
		withoutNewlines(sub)
	}
}

// excludeRune removes a character from ranges, given as pairs of first and last.
func excludeRune(pairs []rune, r rune) []rune {
	var out []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// requiredText returns the longest text that every match is known to contain, and whether its case is ignored.
func requiredText(re *syntax.Regexp) (text []byte, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		text, fold = []byte(string(re.Rune)), re.Flags&syntax.FoldCase != 0
		if fold {
			text = bytes.ToLower(text)
		}
		if len(text) < minPrefilter || fold && !isASCII(text) {
			return nil, false
		}
		return text, fold
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredText(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t, f := requiredText(sub); len(t) > len(text) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

func isASCII(p []byte) bool {
	for _, c := range p {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (q *query) isIncluded(rel string) bool { return q.include == nil || q.include.matchesPath(rel) }

// scanTarget is the name of a file and its size, 0 if the size is unknown.
type scanTarget struct {
	rel     string
	size    int64
	decoded bool // the content was converted from UTF-16
}

// scanFile returns the matching lines of a file, at most maxMatches+1. A binary file has none; a file that begins with
// a UTF-16 byte order mark is converted.
func (q *query) scanFile(ctx context.Context, f io.Reader, what scanTarget) ([]match, error) {
	// Search block by block. A block begins with the rest of the one before: its last, incomplete line.
	held, ok := q.buffers.Get().(*buffers)
	if !ok {
		return nil, nil
	}
	defer q.buffers.Put(held)
	buf := held.block
	var found []match
	line, n := 1, 0
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		read, err := io.ReadAtLeast(f, buf[n:], readSize(len(buf)-n, what.size, first))
		n += read
		last := err != nil || n < len(buf) // the end of the file, or of its readable part
		// The first block shows the encoding, and whether the file is binary.
		if first {
			if big, ok := detectUTF16(buf[:n]); ok && !what.decoded {
				text := newUTF16Reader(io.MultiReader(bytes.NewReader(buf[2:n]), f), big)
				return q.scanFile(ctx, text, scanTarget{rel: what.rel, decoded: true})
			}
			if bytes.HasPrefix(buf[:n], []byte(workpath.BOM)) {
				n = copy(buf, buf[len(workpath.BOM):n])
			}
		}
		if first && workpath.IsBinary(buf[:n]) {
			return nil, nil
		}
		// Search up to the last newline, unless this is the end or the line fills the block.
		end := n
		if !last {
			if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
				end = i + 1
			}
		}
		look := buf[:end]
		if q.fold {
			look = foldASCII(held.lower, look)
		}
		found = q.appendMatches(found, textBlock{buf[:end], look}, position{filepath.ToSlash(what.rel), line})
		if last || len(found) > maxMatches {
			return found, nil
		}
		// Move the rest to the front.
		line += bytes.Count(buf[:end], []byte{'\n'})
		n = copy(buf, buf[end:n])
	}
}

// readSize returns how many bytes a read waits for: room, or the whole of a small file, which saves the read that finds
// its end.
func readSize(room int, size int64, first bool) int {
	if first && size > 0 && size < int64(room) {
		return int(size)
	}
	return room
}

type position struct {
	path string
	line int
}

// textBlock is a part of a file that ends with a line, and the same bytes prepared for the required text; nil if it
// cannot be searched for.
type textBlock struct{ raw, folded []byte }

// appendMatches appends the matching lines of a block whose first line has the number a.line.
func (q *query) appendMatches(found []match, in textBlock, a position) []match {
	raw := in.raw
	done := 0 // the bytes before are searched, their lines counted
	for done < len(raw) && len(found) <= maxMatches {
		start := q.findNext(in, done)
		if start < 0 || start == len(raw) && raw[start-1] == '\n' {
			break // no line follows the last newline
		}
		from := bytes.LastIndexByte(raw[:start], '\n') + 1
		to := len(raw)
		if i := bytes.IndexByte(raw[start:], '\n'); i >= 0 {
			to = start + i
		}
		a.line += bytes.Count(raw[done:from], []byte{'\n'})
		if text := bytes.TrimSuffix(raw[from:to], []byte{'\r'}); q.text == nil || q.re.Match(text) {
			found = append(found, match{a.path, a.line, formatLineText(text)})
		}
		done = to + 1
		a.line++
	}
	return found
}

// findNext returns the offset, at or after done, of the next line that may match: that of the required text, or else
// that of a match; -1 if there is no such line.
func (q *query) findNext(in textBlock, done int) int {
	if q.text != nil && in.folded != nil {
		if i := bytes.Index(in.folded[done:], q.text); i >= 0 {
			return done + i
		}
		return -1
	}
	m := q.re.FindIndex(in.raw[done:])
	if m == nil {
		return -1
	}
	return done + m[0]
}

// foldASCII writes block with its ASCII letters in lower case to buf. It returns nil if block contains one of the two
// other characters that fold to ASCII letters (U+017F to s, U+212A to k).
func foldASCII(buf, block []byte) []byte {
	if bytes.Contains(block, []byte("\u017f")) || bytes.Contains(block, []byte("\u212a")) {
		return nil
	}
	out := buf[:len(block)]
	for i, c := range block {
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

func formatLineText(line []byte) string {
	text, cut := workpath.CutRunes(strings.ToValidUTF8(string(line), "\uFFFD"), maxGrepLine)
	if cut {
		return text + "..."
	}
	return text
}
