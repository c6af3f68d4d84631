package builtin

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
	"sync/atomic"
	"unicode/utf8"

	"github.com/wasilibs/go-re2"

	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	scanBuffer    = 1 << 20 // bytes looked at together; a longer line is looked at in pieces
	maxGrepLine   = 2000    // characters shown of a line
	maxPattern    = 16 << 10
	minPrefilter  = 2   // bytes of text that must occur, from which on looking for it first may be worth while
	rarePrefilter = 3   // bytes from which on that surely is
	missEvery     = 512 // bytes: where the text is more often in lines that do not match, it is not
)

// query is a compiled search. It matches within lines only. Safe for concurrent use.
type query struct {
	re      *regexp.Regexp
	text    []byte // every match holds this text, lower case if fold; nil: nothing known
	fold    bool
	dfa     *re2.Regexp // the same expression, many times faster on long valid text; nil where looking for the text is better
	include *filePattern
	named   string    // the pattern of include, if it means the same to everybody
	texts   texts     // one of which is in every match
	buffers sync.Pool // of *buffers

	searched, misses atomic.Int64 // bytes in which the text was looked for, and lines with it that do not match
}

// buffers are what one file is scanned with.
type buffers struct {
	block []byte
	lower []byte // the block in lower case; nil unless case is ignored
}

func newQuery(pattern, include string) (*query, error) {
	if len(pattern) > maxPattern {
		return nil, tool.Failf("The pattern is %d bytes long, the limit is %d.", len(pattern), maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, badPattern(pattern, err)
	}
	withoutNewlines(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, badPattern(pattern, err)
	}
	q := &query{re: re, texts: textsOf(tree)}
	if q.text, q.fold = required(tree); len(q.text) < rarePrefilter {
		if q.dfa, err = re2.Compile(tree.String()); err != nil {
			q.dfa = nil // it has limits of its own
		}
	}
	q.buffers.New = func() any {
		b := &buffers{block: make([]byte, scanBuffer)}
		if q.fold {
			b.lower = make([]byte, scanBuffer)
		}
		return b
	}
	if include != "" {
		f, err := newFilePattern(include)
		if err != nil {
			return nil, err
		}
		q.include = &f
		if simpleInclude.MatchString(include) {
			q.named = include
		}
	}
	return q, nil
}

func badPattern(pattern string, err error) error {
	why := err.Error()
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		why = se.Code.String() + ": " + se.Expr
	}
	return tool.Failf("The pattern %q is not a regular expression in RE2 syntax (%s). Escape literal brackets and dots with a backslash; look-around and back-references do not exist.", pattern, why)
}

// withoutNewlines changes the expression so that it never matches a newline: a match then lies within one line, and
// many lines can be searched at once. The end of a line may have a carriage return.
func withoutNewlines(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		re.Rune = except(re.Rune, '\n')
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

// except takes one character out of pairs of first and last.
func except(pairs []rune, r rune) []rune {
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

// required returns the longest text known to be in every match, and whether case is ignored in it.
func required(re *syntax.Regexp) (text []byte, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		text, fold = []byte(string(re.Rune)), re.Flags&syntax.FoldCase != 0
		if fold {
			text = bytes.ToLower(text)
		}
		if len(text) < minPrefilter || fold && !ascii(text) {
			return nil, false
		}
		return text, fold
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t, f := required(sub); len(t) > len(text) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

func ascii(p []byte) bool {
	for _, c := range p {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (q *query) includes(rel string) bool { return q.include == nil || q.include.matches(rel) }

// scanned names what is scanned and says how long it is; 0 is not known.
type scanned struct {
	rel     string
	size    int64
	decoded bool // from UTF-16
}

// scan returns the matching lines of a file, at most one more than maxMatches. A binary file has none; one that begins
// with the mark of UTF-16 is searched in that.
func (q *query) scan(ctx context.Context, f io.Reader, what scanned) ([]match, error) {
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
		read, err := io.ReadAtLeast(f, buf[n:], wanted(len(buf)-n, what.size, first))
		n += read
		last := err != nil || n < len(buf) // the end, or as far as it can be read
		if first {
			if big, ok := markOf(buf[:n]); ok && !what.decoded {
				text := newWideText(io.MultiReader(bytes.NewReader(buf[2:n]), f), big)
				return q.scan(ctx, text, scanned{rel: what.rel, decoded: true})
			}
			if bytes.HasPrefix(buf[:n], []byte(bom)) {
				n = copy(buf, buf[len(bom):n])
			}
		}
		if first && badText(buf[:n]) {
			return nil, nil
		}
		end := n
		if !last {
			if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
				end = i + 1
			}
		}
		look := buf[:end]
		if q.fold {
			look = lowered(held.lower, look)
		}
		found = q.lines(found, looked{buf[:end], look, q.dfa != nil && utf8.Valid(buf[:end])}, at{filepath.ToSlash(what.rel), line})
		if last || len(found) > maxMatches {
			return found, nil
		}
		line += bytes.Count(buf[:end], []byte{'\n'})
		n = copy(buf, buf[end:n])
	}
}

// wanted is how much a read must bring: what there is room for, or all of a small file, which saves asking for its end.
func wanted(room int, size int64, first bool) int {
	if first && size > 0 && size < int64(room) {
		return int(size)
	}
	return room
}

type at struct {
	path string
	line int
}

// looked is a block and the form of it in which the required text is looked for; nil if it must not be. What is not
// valid is not for the faster engine, which understands invalid text otherwise.
type looked struct {
	block, look []byte
	valid       bool
}

// lines adds the matching lines of a block that begins with the line of a.
func (q *query) lines(found []match, in looked, a at) []match {
	block := in.block
	done := 0 // everything before is searched and counted
	misses := 0
	if in.valid && q.common() {
		in.look = nil
	}
	for done < len(block) && len(found) <= maxMatches {
		start := q.next(in, done)
		if start < 0 || start == len(block) && block[start-1] == '\n' {
			break // behind the last newline there is no line
		}
		from := bytes.LastIndexByte(block[:start], '\n') + 1
		to := len(block)
		if i := bytes.IndexByte(block[start:], '\n'); i >= 0 {
			to = start + i
		}
		a.line += bytes.Count(block[done:from], []byte{'\n'})
		if text := bytes.TrimSuffix(block[from:to], []byte{'\r'}); q.text == nil || q.re.Match(text) {
			found = append(found, match{a.path, a.line, grepLine(text)})
		} else {
			misses++
		}
		done = to + 1
		a.line++
	}
	if in.look != nil {
		q.searched.Add(int64(len(block)))
		q.misses.Add(int64(misses))
	}
	return found
}

// common reports whether the text turned out to be in so many lines that looking for it first takes longer than the faster
// engine does.
func (q *query) common() bool { return missEvery*q.misses.Load() > q.searched.Load()+scanBuffer }

// next returns where, from done on, a line may match: where the required text is, or else where the expression
// matches.
func (q *query) next(in looked, done int) int {
	if q.text != nil && in.look != nil {
		if i := bytes.Index(in.look[done:], q.text); i >= 0 {
			return done + i
		}
		return -1
	}
	var m []int
	if in.valid {
		m = q.dfa.FindIndex(in.block[done:])
	} else {
		m = q.re.FindIndex(in.block[done:])
	}
	if m == nil {
		return -1
	}
	return done + m[0]
}

// lowered writes block with its ASCII letters in lower case to buf and returns it, or nil if block holds one of the two
// other characters that fold to ASCII letters (U+017F to s, U+212A to k).
func lowered(buf, block []byte) []byte {
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

func grepLine(line []byte) string {
	text, cut := cutRunes(strings.ToValidUTF8(string(line), "\uFFFD"), maxGrepLine)
	if cut {
		return text + "..."
	}
	return text
}
