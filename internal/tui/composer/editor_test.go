package composer

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestEditor: edits change the text at the cursor, which | shows.
func TestEditor(t *testing.T) {
	tests := map[string]struct {
		do   func(*Editor)
		want string
	}{
		"insert":      {func(e *Editor) { e.ApplyEdit(Left); e.Insert("X") }, "one twX|o"},
		"delete back": {func(e *Editor) { e.ApplyEdit(DeleteBack) }, "one tw|"},
		"delete word": {func(e *Editor) { e.ApplyEdit(DeleteWordBack) }, "one |"},
		"yank": {
			func(e *Editor) { e.ApplyEdit(DeleteWordBack); e.ApplyEdit(Yank); e.ApplyEdit(Yank) },
			"one twotwo|",
		},
		"line start": {func(e *Editor) { e.ApplyEdit(LineStart); e.ApplyEdit(DeleteForward) }, "|ne two"},
		"to end":     {func(e *Editor) { e.ApplyEdit(WordLeft); e.ApplyEdit(DeleteToEnd) }, "one |"},
		"joined lines": {
			func(e *Editor) { e.SetText("a\nb"); e.ApplyEdit(Left); e.ApplyEdit(Left); e.ApplyEdit(DeleteToEnd) },
			"a|b",
		},
		"undo":     {func(e *Editor) { e.Insert(" three"); e.UndoEdit() }, "one two|"},
		"controls": {func(e *Editor) { e.Insert("\x1b[2J\r\nx") }, "one two\uFFFD[2J\nx|"},
		"up and down": {func(e *Editor) {
			e.SetText("long line\nab\nlong line")
			e.ApplyEdit(Left)
			e.MoveRow(-1, 40)
			e.MoveRow(-1, 40)
		}, "long lin|e\nab\nlong line"},
		"word": {func(e *Editor) { e.Insert(" @int"); e.ReplaceWord("@internal/ ") }, "one two @internal/ |"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := &Editor{goal: -1}
			e.SetText("one two")
			tt.do(e)
			got := string(e.runes[:e.cursor]) + "|" + string(e.runes[e.cursor:])
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestLongPaste: a paste of any size is one character for the cursor, and the whole of it in the prompt.
func TestLongPaste(t *testing.T) {
	e := &Editor{}
	text := strings.Repeat("0123456789 abc\n", 1<<15) + "end"
	e.Insert("see ")
	e.PasteText(text)
	if rows := e.WrapRows(80); len(rows.Lines) != 1 || rows.Lines[0] != "see [pasted 32,769 lines]" {
		t.Errorf("it is shown as %q", rows.Lines)
	}
	if e.Text() != "see "+text {
		t.Errorf("the prompt has %d bytes, want %d", len(e.Text()), len(text)+4)
	}
	e.ApplyEdit(DeleteBack)
	if e.Text() != "see " {
		t.Errorf("after a deletion: %q", e.Text())
	}
	e.PasteText("short\nlines")
	if e.Text() != "see short\nlines" || len(e.tokens) != 1 {
		t.Errorf("a short paste: %q", e.Text())
	}
}

// TestRows: the cursor is where its character is shown, whatever the width.
func TestRows(t *testing.T) {
	e := &Editor{}
	e.SetText(strings.Repeat("漢字 wide ", 20) + "\n\nend")
	for width := 2; width < 60; width++ {
		for e.cursor = 0; e.cursor <= len(e.runes); e.cursor++ {
			rows := e.WrapRows(width)
			if rows.Row >= len(rows.Lines) || rows.Col > width {
				t.Fatalf("width %d, cursor %d: row %d of %d, column %d", width, e.cursor, rows.Row, len(rows.Lines), rows.Col)
			}
		}
	}
}

// TestDraftFile: the draft and the newest prompts are kept; a damaged file holds nothing.
func TestDraftFile(t *testing.T) {
	f := NewDraftFile(filepath.Join(t.TempDir(), "tui", "x.json"))
	h := PromptHistory{}
	for range maxHistory + 5 {
		h.Add("a")
		h.Add("b")
	}
	if err := f.Save(Drafts{Draft: "draft", History: h.Prompts}); err != nil {
		t.Fatal(err)
	}
	kept := f.Load()
	if kept.Draft != "draft" || len(kept.History) != maxHistory {
		t.Errorf("%q, %d prompts", kept.Draft, len(kept.History))
	}
	h = PromptHistory{Prompts: kept.History}
	if text, ok := h.Move(1, "typed"); !ok || text != "b" {
		t.Errorf("one step back: %q %v", text, ok)
	}
	if text, ok := h.Move(-1, "b"); !ok || text != "typed" {
		t.Errorf("back at the typed text: %q %v", text, ok)
	}
}

// TestClusters: what the terminal shows as one character is one for the cursor, and has its width.
func TestClusters(t *testing.T) {
	for _, shown := range []string{"e\u0301", "👨‍👩‍👧", "🇩🇪", "漢", "👍🏽"} {
		e := &Editor{}
		e.SetText("ab\n" + shown + shown + "x")
		width := ansi.StringWidth(shown)
		for _, want := range []int{2 * width, width, 0} {
			if e.ApplyEdit(Left); e.WrapRows(40).Col != want {
				t.Errorf("%q: column %d, want %d", shown, e.WrapRows(40).Col, want)
			}
		}
		e.MoveRow(-1, 40)
		e.ApplyEdit(TextEnd)
		e.ApplyEdit(Left)
		if e.ApplyEdit(DeleteBack); e.Text() != "ab\n"+shown+"x" {
			t.Errorf("after a deletion: %q", e.Text())
		}
		e.MoveRow(-1, 40)
		e.MoveRow(1, 40)
		if e.ApplyEdit(DeleteForward); e.Text() != "ab\n"+shown {
			t.Errorf("after a move up and down and a deletion: %q", e.Text())
		}
	}
}

// TestLongText: text that comes back whole, as a draft does, is one character if it is too long to be laid out.
func TestLongText(t *testing.T) {
	e := &Editor{}
	text := strings.Repeat("0123456789 abc\n", 1<<15) + "end"
	e.SetText(text)
	if rows := e.WrapRows(80); len(rows.Lines) != 1 || rows.Lines[0] != "[text of 32,769 lines]" {
		t.Errorf("it is shown in %d rows, first %q", len(rows.Lines), rows.Lines[0])
	}
	if e.Text() != text {
		t.Errorf("the prompt has %d bytes, want %d", len(e.Text()), len(text))
	}
}
