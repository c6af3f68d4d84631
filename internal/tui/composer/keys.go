package composer

import tea "charm.land/bubbletea/v2"

// editOf returns the edit of a key, as other editors of lines have it.
func editOf(key string) (Edit, bool) {
	// Deletions first, then yank, then movement by character, word, line and text.
	switch key {
	case "backspace", "ctrl+h", "shift+backspace":
		return DeleteBack, true
	case "delete", "ctrl+d":
		return DeleteForward, true
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		return DeleteWordBack, true
	case "ctrl+u":
		return DeleteToStart, true
	case "ctrl+k":
		return DeleteToEnd, true
	case "ctrl+y":
		return Yank, true
	case "left", "ctrl+b":
		return Left, true
	case "right", "ctrl+f":
		return Right, true
	case "alt+left", "ctrl+left", "alt+b":
		return WordLeft, true
	case "alt+right", "ctrl+right", "alt+f":
		return WordRight, true
	case "home", "ctrl+a":
		return LineStart, true
	case "end", "ctrl+e":
		return LineEnd, true
	case "ctrl+home", "alt+<":
		return TextStart, true
	case "ctrl+end", "alt+>":
		return TextEnd, true
	default:
		return 0, false
	}
}

// EditLine applies a key to a text: an edit, or the character of the key. It reports whether the key was one of these.
func EditLine(e *Editor, k tea.KeyPressMsg) bool {
	if op, ok := editOf(k.String()); ok {
		e.ApplyEdit(op)
		return true
	}
	if k.Text != "" {
		e.Insert(k.Text)
		return true
	}
	return false
}
