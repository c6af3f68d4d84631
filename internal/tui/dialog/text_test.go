package dialog

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
)

const samplePatch = "--- a.txt\n+++ a.txt\n@@ -7,2 +7,2 @@\n one\n-two\x1b[2J\n+three\n"

// TestChanges: changes of files have their names and line numbers, side by side where there is room, and no control
// characters; other lines that begin as those of a patch do are as they are.
func TestChanges(t *testing.T) {
	text := &Text{Changes: []FilePatch{{"a.txt", samplePatch}, {"b.bin", "Binary files differ\n"}}, Body: []string{"- more"}}
	for width, want := range map[int]string{
		40: "a.txt\n7   one\n8 - two�[2J\n8 + three\n\nb.bin\nBinary files differ\n\n- more",
		150: "a.txt\n7   one" + strings.Repeat(" ", 66) + " │ 7   one\n8 - two�[2J" + strings.Repeat(" ", 62) +
			" │ 8 + three\n\nb.bin\nBinary files differ\n\n- more",
	} {
		lines := text.RenderLines(style.Theme{}, width, 20)
		if got := ansi.Strip(strings.Join(lines[1:len(lines)-1], "\n")); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// TestAskedChange: a request shows the change as the transcript does, whole; one that is no patch is shown as it is.
func TestAskedChange(t *testing.T) {
	for diff, want := range map[string]string{
		samplePatch: "8 - two�[2J\n8 + three\n", "no patch": "no patch\n",
		samplePatch + strings.Repeat(" x\n", 200) + "+end\n": "209 + end\n",
	} {
		metadata, err := json.Marshal(map[string]string{"diff": diff})
		if err != nil {
			t.Fatal(err)
		}
		d := NewAsk(session.PendingAsk{Action: "edit", Resources: []string{"a.txt"}, Metadata: metadata}, nil)
		if got := strings.Join(d.RenderLines(style.Theme{}, 40, 300), "\n"); !strings.Contains(ansi.Strip(got), want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestSearchInput: typed and pasted text replaces the earlier one; a key that moves keeps it.
func TestSearchInput(t *testing.T) {
	key := func(text string) tea.KeyPressMsg { return tea.KeyPressMsg{Code: []rune(text)[0], Text: text} }
	for name, c := range map[string]struct {
		change func(*LineInput)
		want   string
	}{
		"enter": {func(*LineInput) {}, "inside"},
		"typed": {func(in *LineInput) { in.PressKey(key("d")); in.PressKey(key("e")) }, "de"},
		"paste": {func(in *LineInput) { in.PasteText("delegate") }, "delegate"},
		"moved": {func(in *LineInput) { in.PressKey(tea.KeyPressMsg{Code: tea.KeyEnd}); in.PressKey(key("d")) }, "insided"},
	} {
		got := ""
		in := NewSearchInput("Search", "inside", func(text string) tea.Cmd { got = text; return nil })
		c.change(in)
		in.PressKey(tea.KeyPressMsg{Code: tea.KeyEnter})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
