package composer

import (
	"slices"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// Vi edits a text with the keys of vi. The zero value inserts text, as an editor without modes.
type Vi struct {
	On      bool
	normal  bool
	pending rune // d or c, which waits for a motion; 0 without
}

// Mode names the mode for the status line, "" without vi keys.
func (v *Vi) Mode() string {
	switch {
	case !v.On:
		return ""
	case v.normal:
		return "NORMAL"
	}
	return "INSERT"
}

// Insert returns to the insert mode, for text that begins anew.
func (v *Vi) Insert() { v.normal, v.pending = false, 0 }

// PressKey handles a key and reports whether it was one of vi: Escape in the insert mode, all text in the normal mode.
// A move by rows is for the caller, because it depends on the width; rows is its direction.
func (v *Vi) PressKey(e *Editor, k tea.KeyPressMsg) (rows int, taken bool) {
	switch {
	case !v.On:
		return 0, false
	case !v.normal:
		if v.normal = k.String() == "esc"; v.normal && e.cursor > e.lineStart() {
			e.ApplyEdit(Left)
		}
		return 0, v.normal
	case k.String() == "esc" && v.pending != 0:
		v.pending = 0
		return 0, true
	case k.Text == "" || k.Mod&^tea.ModShift != 0:
		return 0, false
	}
	for _, r := range k.Text {
		rows += v.pressNormal(e, r)
	}
	return rows, true
}

// pressNormal handles a character in the normal mode and returns the rows to move by.
func (v *Vi) pressNormal(e *Editor, r rune) (rows int) {
	// The motion of an operator, then motions alone.
	if v.pending != 0 {
		v.applyOperator(e, r)
		return 0
	}
	if r != 'j' && r != 'k' { // only these keep the column that they aim for
		e.goal = -1
	}
	if to, ok := e.viMotion(r); ok {
		e.cursor = e.keepOnText(to)
		return 0
	}
	// Rows, operators and edits; what remains may begin to insert.
	switch r {
	case 'j':
		return 1
	case 'k':
		return -1
	case 'd', 'c':
		v.pending = r
	case 'x':
		e.deleteTo(min(clusterEnd(e.runes, e.cursor), e.lineEnd()), true)
		e.cursor = e.keepOnText(e.cursor)
	case 'D', 'C':
		e.deleteTo(e.lineEnd(), true)
		e.cursor = e.keepOnText(e.cursor)
		if r == 'C' {
			v.Insert()
			e.cursor = e.lineEnd()
		}
	case 'u':
		e.UndoEdit()
	case 'p':
		e.putAfter()
	default:
		v.beginInsert(e, r)
	}
	return 0
}

// beginInsert enters the insert mode with one of i I a A o O.
func (v *Vi) beginInsert(e *Editor, r rune) {
	switch r {
	case 'i':
	case 'I':
		e.cursor = e.lineStart()
	case 'a':
		if e.cursor < e.lineEnd() {
			e.ApplyEdit(Right)
		}
	case 'A':
		e.cursor = e.lineEnd()
	case 'o':
		e.cursor = e.lineEnd()
		e.Insert("\n")
	case 'O':
		e.cursor = e.lineStart()
		e.Insert("\n")
		e.cursor--
	default:
		return
	}
	v.Insert()
}

// applyOperator deletes from the cursor to where the motion leads, or the line if the operator is repeated. After a
// change text is inserted.
func (v *Vi) applyOperator(e *Editor, motion rune) {
	op := v.pending
	v.pending = 0
	to, ok := e.viMotion(motion)
	switch {
	case motion == op:
		e.deleteLine(op == 'c')
	case !ok:
		return
	case motion == 'e': // includes the character
		e.deleteTo(min(to+1, len(e.runes)), true)
	case motion == 'w':
		if op == 'c' { // as vi: the blank behind the word stays
			for to > e.cursor+1 && unicode.IsSpace(e.runes[to-1]) {
				to--
			}
		}
		e.deleteTo(min(to, max(e.lineEnd(), e.cursor)), true)
	default:
		e.deleteTo(to, true)
	}
	if op == 'c' {
		v.Insert()
		return
	}
	e.cursor = e.keepOnText(e.cursor)
}

// viMotion returns where a motion within the text leads.
func (e *Editor) viMotion(r rune) (to int, ok bool) {
	// Characters, the ends of the line, then words: a run of characters of one kind.
	switch r {
	case 'h':
		return max(clusterStart(e.runes, e.cursor), e.lineStart()), true
	case 'l':
		return min(clusterEnd(e.runes, e.cursor), e.lineEnd()), true
	case '0':
		return e.lineStart(), true
	case '$':
		return e.lineEnd(), true
	case 'w':
		to = e.cursor
		for kind := wordKind(e.runes, to); to < len(e.runes) && kind != 0 && wordKind(e.runes, to) == kind; to++ {
		}
		for ; to < len(e.runes) && wordKind(e.runes, to) == 0; to++ {
		}
		return to, true
	case 'b':
		for to = e.cursor; to > 0 && wordKind(e.runes, to-1) == 0; to-- {
		}
		for kind := wordKind(e.runes, to-1); to > 0 && wordKind(e.runes, to-1) == kind; to-- {
		}
		return to, true
	case 'e':
		for to = min(e.cursor+1, len(e.runes)); to < len(e.runes) && wordKind(e.runes, to) == 0; to++ {
		}
		for kind := wordKind(e.runes, to); to+1 < len(e.runes) && wordKind(e.runes, to+1) == kind; to++ {
		}
		return to, true
	}
	return 0, false
}

// wordKind tells the characters of words from signs, and both from blanks, whose kind is 0.
func wordKind(text []rune, i int) int {
	switch {
	case i < 0 || i >= len(text) || unicode.IsSpace(text[i]):
		return 0
	case unicode.IsLetter(text[i]) || unicode.IsDigit(text[i]) || text[i] == '_':
		return 1
	}
	return 2
}

// keepOnText returns the position for a cursor that stands on a character: not behind the last one of a line.
func (e *Editor) keepOnText(i int) int {
	i = min(i, len(e.runes))
	if i > 0 && e.runes[i-1] != '\n' && (i == len(e.runes) || e.runes[i] == '\n') {
		return clusterStart(e.runes, i)
	}
	return i
}

// deleteLine deletes the line of the cursor; with keepBreak its text only.
func (e *Editor) deleteLine(keepBreak bool) {
	from, to := e.lineStart(), e.lineEnd()
	e.cursor = from
	if keepBreak {
		e.deleteTo(to, true)
		return
	}
	e.keepState()
	e.killed = append(slices.Clone(e.runes[from:to]), '\n') // a whole line, for p
	switch {
	case to < len(e.runes):
		to++
	case from > 0:
		from--
	}
	e.runes = slices.Delete(e.runes, from, to)
	e.cursor, e.goal = min(from, len(e.runes)), -1
	e.cursor = e.lineStart()
}

// putAfter inserts what was deleted: a whole line below the cursor's, other text behind the cursor.
func (e *Editor) putAfter() {
	n := len(e.killed)
	if n == 0 {
		return
	}
	e.keepState()
	if e.killed[n-1] != '\n' {
		if e.cursor < e.lineEnd() {
			e.cursor = clusterEnd(e.runes, e.cursor)
		}
		e.insert(e.killed)
		e.cursor = clusterStart(e.runes, e.cursor)
		return
	}
	e.cursor = e.lineEnd()
	at := e.cursor + 1
	e.insert(append([]rune{'\n'}, e.killed[:n-1]...))
	e.cursor = at
}
