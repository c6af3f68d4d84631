package composer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// Editor is a text of several lines with a cursor. A token stands for text that is not shown, such as a long paste: it
// is one character for the cursor, and the whole of its text in the prompt.
type Editor struct {
	runes  []rune
	cursor int
	tokens []pastedText // of the runes from firstToken on
	goal   int          // column that moves up and down keep; -1 is the cursor's
	undo   []state
	killed []rune
	pasted bool // the text begins with a paste
}

// pastedText is text that the editor shows by its label.
type pastedText struct{ label, text string }

// state is the state of the editor that an undo restores.
type state struct {
	runes  []rune
	cursor int
	pasted bool
}

// Pastes longer than these become tokens.
const (
	maxPasteLines = 5
	maxPasteRunes = 600
	maxEdited     = 20_000 // runes; longer text is a token also where it is no paste, as each key lays all runes out
	maxUndo       = 200
)

// Insert puts typed text at the cursor.
func (e *Editor) Insert(text string) {
	e.keepState()
	if e.cursor == 0 && text != "" {
		e.pasted = false
	}
	e.insert(cleanRunes(text))
}

// PasteText puts pasted text at the cursor, as a token if it is long.
func (e *Editor) PasteText(text string) {
	e.keepState()
	e.pasted = e.pasted || e.cursor == 0
	clean := cleanRunes(strings.TrimRight(text, "\r\n"))
	if countLines(clean) <= maxPasteLines && len(clean) <= maxPasteRunes {
		e.insert(clean)
		return
	}
	e.insert([]rune{e.addToken("pasted", clean)})
}

func countLines(text []rune) int {
	lines := 1
	for _, r := range text {
		if r == '\n' {
			lines++
		}
	}
	return lines
}

// addToken returns the rune of a token for the text. Its label begins with the word.
func (e *Editor) addToken(word string, text []rune) rune {
	size := terminal.FormatPlural(len(text), "character")
	if lines := countLines(text); lines > 1 {
		size = terminal.FormatPlural(lines, "line")
	}
	e.tokens = append(e.tokens, pastedText{fmt.Sprintf("[%s %s]", word, size), string(text)})
	return rune(firstToken + len(e.tokens) - 1)
}

// cleanRunes returns text without control characters and without the runes of tokens.
func cleanRunes(text string) []rune {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.ReplaceAll(terminal.ReplaceControls(text), "\t", "    ")
	return slices.DeleteFunc([]rune(text), func(r rune) bool { return r >= firstToken && r < firstToken+0xFFFE })
}

func (e *Editor) insert(rs []rune) {
	e.runes = slices.Insert(e.runes, e.cursor, rs...)
	e.cursor += len(rs)
	e.goal = -1
}

func (e *Editor) keepState() {
	e.undo = append(e.undo, state{slices.Clone(e.runes), e.cursor, e.pasted})
	if len(e.undo) > maxUndo {
		e.undo = slices.Delete(e.undo, 0, len(e.undo)-maxUndo)
	}
}

// UndoEdit takes the newest change back.
func (e *Editor) UndoEdit() {
	if n := len(e.undo); n > 0 {
		e.runes, e.cursor, e.pasted = e.undo[n-1].runes, e.undo[n-1].cursor, e.undo[n-1].pasted
		e.undo, e.goal = e.undo[:n-1], -1
	}
}

// Text returns the text with the texts of its tokens.
func (e *Editor) Text() string {
	var b strings.Builder
	for _, r := range e.runes {
		if t, ok := e.findToken(r); ok {
			b.WriteString(t.text)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (e *Editor) findToken(r rune) (pastedText, bool) {
	if i := int(r) - firstToken; i >= 0 && i < len(e.tokens) {
		return e.tokens[i], true
	}
	return pastedText{}, false
}

// SetText replaces the text, with the cursor at its end. A very long text becomes a token.
func (e *Editor) SetText(text string) {
	e.keepState()
	e.runes = cleanRunes(text)
	if len(e.runes) > maxEdited {
		e.runes = []rune{e.addToken("text of", e.runes)}
	}
	e.cursor, e.goal, e.pasted = len(e.runes), -1, false
}

// BeginsWithPaste reports whether the first character of the text was pasted.
func (e *Editor) BeginsWithPaste() bool { return e.pasted }

// MarkPasted has the text count as pasted.
func (e *Editor) MarkPasted() { e.pasted = true }

// Clear empties the editor.
func (e *Editor) Clear() { *e = Editor{goal: -1} }

// DiscardText empties the editor so that UndoEdit brings the text back.
func (e *Editor) DiscardText() {
	e.keepState()
	e.runes, e.cursor, e.goal = nil, 0, -1
}

// IsEmpty reports whether there is no text.
func (e *Editor) IsEmpty() bool { return len(e.runes) == 0 }

// Word returns the word that ends at the cursor, from the newest blank on.
func (e *Editor) Word() string {
	return string(e.runes[e.wordStart():e.cursor])
}

func (e *Editor) wordStart() int {
	i := e.cursor
	for i > 0 && !unicode.IsSpace(e.runes[i-1]) {
		i--
	}
	return i
}

// ReplaceWord replaces the word that ends at the cursor.
func (e *Editor) ReplaceWord(with string) {
	e.keepState()
	start := e.wordStart()
	e.runes = slices.Delete(e.runes, start, e.cursor)
	e.cursor = start
	e.insert(cleanRunes(with))
}

// ReplacePasted replaces the newest occurrence of a pasted text, and moves the cursor with the text behind it. It
// reports false if the text is not there any more.
func (e *Editor) ReplacePasted(text, with string) bool {
	old := cleanRunes(strings.TrimRight(text, "\r\n"))
	start := len(e.runes) - len(old)
	for start >= 0 && !slices.Equal(e.runes[start:start+len(old)], old) {
		start--
	}
	if start < 0 || len(old) == 0 {
		return false
	}
	e.keepState()
	cursor, end := e.cursor, start+len(old)
	e.runes = slices.Delete(e.runes, start, end)
	e.cursor = start
	e.insert(cleanRunes(with))
	if cursor < end {
		e.cursor = min(cursor, start)
	} else {
		e.cursor += cursor - end
	}
	return true
}

// IsFirstWord reports whether the word that ends at the cursor is the first of the text.
func (e *Editor) IsFirstWord() bool { return e.wordStart() == 0 }

// Edit is the effect of a key on the text.
type Edit int

// The edits.
const (
	DeleteBack Edit = iota
	DeleteForward
	DeleteWordBack
	DeleteToStart
	DeleteToEnd
	Yank
	Left
	Right
	WordLeft
	WordRight
	LineStart
	LineEnd
	TextStart
	TextEnd
)

// ApplyEdit makes an edit.
func (e *Editor) ApplyEdit(op Edit) {
	// Only movement between rows keeps the column that it aims for.
	e.goal = -1
	// Deletions first, then yank, then movement. Deletions of words and lines can be yanked.
	switch op {
	case DeleteBack:
		e.deleteTo(clusterStart(e.runes, e.cursor), false)
	case DeleteForward:
		e.deleteTo(clusterEnd(e.runes, e.cursor), false)
	case DeleteWordBack:
		e.deleteTo(e.previousWord(), true)
	case DeleteToStart:
		e.deleteTo(e.lineStart(), true)
	case DeleteToEnd:
		to := e.lineEnd()
		if to == e.cursor { // the end of the line itself
			to = min(to+1, len(e.runes))
		}
		e.deleteTo(to, true)
	case Yank:
		e.keepState()
		e.insert(e.killed)
	case Left:
		e.cursor = clusterStart(e.runes, e.cursor)
	case Right:
		e.cursor = clusterEnd(e.runes, e.cursor)
	case WordLeft:
		e.cursor = e.previousWord()
	case WordRight:
		e.cursor = e.nextWord()
	case LineStart:
		e.cursor = e.lineStart()
	case LineEnd:
		e.cursor = e.lineEnd()
	case TextStart:
		e.cursor = 0
	case TextEnd:
		e.cursor = len(e.runes)
	}
}

func (e *Editor) deleteTo(to int, keep bool) {
	from := e.cursor
	if to < from {
		from, to = to, from
	}
	if from == to {
		return
	}
	e.keepState()
	if keep {
		e.killed = slices.Clone(e.runes[from:to])
	}
	e.runes, e.cursor = slices.Delete(e.runes, from, to), from
}

func (e *Editor) previousWord() int {
	i := e.cursor
	for i > 0 && unicode.IsSpace(e.runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.runes[i-1]) {
		i--
	}
	return i
}

func (e *Editor) nextWord() int {
	i := e.cursor
	for i < len(e.runes) && unicode.IsSpace(e.runes[i]) {
		i++
	}
	for i < len(e.runes) && !unicode.IsSpace(e.runes[i]) {
		i++
	}
	return i
}

func (e *Editor) lineStart() int {
	i := e.cursor
	for i > 0 && e.runes[i-1] != '\n' {
		i--
	}
	return i
}

func (e *Editor) lineEnd() int {
	i := e.cursor
	for i < len(e.runes) && e.runes[i] != '\n' {
		i++
	}
	return i
}

// Rows is the text as it is shown in a width.
type Rows struct {
	Lines    []string
	Row, Col int // of the cursor
	starts   []int
	columns  [][]int // of each rune of a row, and behind its last one
}

// CutWindow returns at most height lines around the cursor, and the number of lines before them.
func (r *Rows) CutWindow(height int) (lines []string, before int) {
	height = min(len(r.Lines), max(height, 1))
	before = min(max(r.Row-height+1, 0), len(r.Lines)-height)
	return r.Lines[before : before+height], before
}

// WrapRows wraps the text at the width.
func (e *Editor) WrapRows(width int) Rows {
	width = max(width, 2)
	l := Rows{starts: []int{0}, columns: [][]int{{}}}
	var line strings.Builder
	col := 0
	// closeRow ends a row; the columns of a row include the one behind its last character.
	closeRow := func(next int) {
		l.Lines = append(l.Lines, line.String())
		l.columns[len(l.columns)-1] = append(l.columns[len(l.columns)-1], col)
		line.Reset()
		l.starts, l.columns, col = append(l.starts, next), append(l.columns, []int{}), 0
	}
	// Place one grapheme cluster at a time. A token for pasted text shows its label.
	for i := 0; i < len(e.runes); {
		r, end := e.runes[i], clusterEnd(e.runes, i)
		shown := string(e.runes[i:end])
		if t, ok := e.findToken(r); ok {
			shown = ansi.Truncate(t.label, width-1, "…")
		}
		w := ansi.StringWidth(shown)
		if r != '\n' && col+w >= width && col > 0 { // the last column is the cursor's
			closeRow(i)
		}
		if i <= e.cursor && e.cursor < end {
			l.Row, l.Col = len(l.starts)-1, col
		}
		if r == '\n' {
			closeRow(end)
			i = end
			continue
		}
		row := len(l.columns) - 1
		l.columns[row] = append(l.columns[row], col)
		line.WriteString(shown)
		col += w
		for i++; i < end; i++ { // no place for the cursor
			l.columns[row] = append(l.columns[row], col)
		}
	}
	// The cursor may be behind the last character.
	if e.cursor == len(e.runes) {
		l.Row, l.Col = len(l.starts)-1, col
	}
	l.Lines = append(l.Lines, line.String())
	l.columns[len(l.columns)-1] = append(l.columns[len(l.columns)-1], col)
	return l
}

// MoveRow moves the cursor by rows of the layout in the width. It reports false at the first or last row.
func (e *Editor) MoveRow(delta, width int) bool {
	l := e.WrapRows(width)
	row := l.Row + delta
	if row < 0 || row >= len(l.Lines) {
		return false
	}
	if e.goal < 0 {
		e.goal = l.Col
	}
	cols := l.columns[row]
	i := 0
	for i+1 < len(cols) && cols[i+1] <= e.goal {
		i++
	}
	if row+1 < len(l.starts) && l.starts[row]+i >= l.starts[row+1] {
		i = l.starts[row+1] - l.starts[row] - 1
	}
	e.cursor = l.starts[row] + max(i, 0)
	return true
}
