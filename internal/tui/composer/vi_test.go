package composer

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestVi: the keys of vi edit the text; ^ stands for Escape, and the cursor is shown as |.
func TestVi(t *testing.T) {
	for keys, want := range map[string]string{
		"^":         "one two, thre|e",
		"^0x":       "|ne two, three",
		"^0wx":      "one |wo, three",
		"^bx":       "one two, |hree",
		"^0ex":      "on| two, three",
		"^0wex":     "one tw|, three",
		"^0wwx":     "one two| three",
		"^0iX":      "X|one two, three",
		"^0aX":      "oX|ne two, three",
		"^IX":       "X|one two, three",
		"^0AX":      "one two, threeX|",
		"^oX":       "one two, three\nX|",
		"^OX":       "X|\none two, three",
		"^0wD":      "one| ",
		"^0dw":      "|two, three",
		"^0cwX":     "X| two, three",
		"^ccX":      "X|",
		"^dd":       "|",
		"^oX^ddP":   "|one two, three",
		"^oX^kddp":  "X\n|one two, three",
		"^0xp":      "n|oe two, three",
		"^0xu":      "|one two, three",
		"^0$x":      "one two, thr|e",
		"^hhx":      "one two, th|ee",
		"^0lx":      "o|e two, three",
		"^0d^x":     "|ne two, three",
		"^0qz":      "|one two, three",
		"X":         "one two, threeX|",
		"^0dwdwD":   "|",
		"^0oA^kAB":  "one two, threeB|\nA",
		"^0dwiX^p":  "Xone| two, three",
		"^0c$X":     "X|",
		"^d0":       "|e",
		"^A漢^x":     "one two, thre|e",
		"^0xxxxxxx": "|, three",
	} {
		var e Editor
		e.Clear()
		e.Insert("one two, three")
		v := Vi{On: true}
		for _, r := range keys {
			k := tea.KeyPressMsg{Code: r, Text: string(r)}
			if r == '^' {
				k = tea.KeyPressMsg{Code: tea.KeyEscape}
			}
			rows, taken := v.PressKey(&e, k)
			if rows != 0 {
				e.MoveRow(rows, 80)
			}
			if !taken {
				EditLine(&e, k)
			}
		}
		if got := string(e.runes[:e.cursor]) + "|" + string(e.runes[e.cursor:]); got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

// FuzzVi: no sequence of keys breaks the text or moves the cursor out of it.
func FuzzVi(f *testing.F) {
	f.Add("^ddpudwcwX^ox^Ob$eDuuu")
	f.Fuzz(func(t *testing.T, keys string) {
		var e Editor
		e.Clear()
		v := Vi{On: true}
		for _, r := range keys {
			k := tea.KeyPressMsg{Code: r, Text: string(r)}
			if r == '^' {
				k = tea.KeyPressMsg{Code: tea.KeyEscape}
			}
			rows, taken := v.PressKey(&e, k)
			if rows != 0 {
				e.MoveRow(rows, 20)
			}
			if !taken {
				EditLine(&e, k)
			}
			if e.cursor < 0 || e.cursor > len(e.runes) {
				t.Fatalf("the cursor is at %d of %d", e.cursor, len(e.runes))
			}
		}
		e.WrapRows(20)
	})
}
