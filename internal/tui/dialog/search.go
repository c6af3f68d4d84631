package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Search is a Picker whose items are found elsewhere for the typed text, such as by a server. Its fields are set with the
// items; the keys of a Picker's actions are those of Keys, because they need no item.
type Search struct {
	Picker
	Typed   func() tea.Cmd            // called when the text has changed
	Keys    map[string]func() tea.Cmd // what other keys do
	IsStale bool                      // the items are of an earlier text: Enter chooses none of them
	IsOld   bool                      // the text is an earlier one, which typing replaces
}

// NewSearch returns a search without text and items.
func NewSearch() *Search {
	s := &Search{}
	s.search = s
	return s
}

// Text returns the typed text.
func (s *Search) Text() string { return strings.TrimSpace(s.filter.Text()) }

// SetItems replaces the items, and selects the first one unless the text is the same as before.
func (s *Search) SetItems(items []Entry) {
	s.Items, s.IsStale = items, false
	if !s.IsOld {
		s.at = 0
	}
}

// replaceOld removes the earlier text, because text is typed or pasted.
func (s *Search) replaceOld() {
	if s.IsOld {
		s.filter.Clear()
	}
}

// PressKey implements Dialog. An earlier text stays if a key moves in the list or in the text.
func (s *Search) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	key := k.String()
	if do := s.Keys[key]; do != nil {
		return do(), false
	}
	if s.IsStale && key == "enter" {
		return nil, false
	}
	was := s.filter.Text()
	if isText(k) {
		s.replaceOld()
	}
	cmd, closed := s.Picker.PressKey(k)
	s.IsOld = s.IsOld && slices.Contains(listKeys, key)
	if s.filter.Text() != was {
		return s.Typed(), false
	}
	return cmd, closed
}

// listKeys are the keys that move in the list of a Search.
var listKeys = []string{"up", "down", "pgup", "pgdown", "ctrl+p", "ctrl+n", "shift+tab"}

// maxPasted bounds the bytes of pasted text that are taken.
const maxPasted = 1000

// Paste inserts pasted text as one line, and searches it.
func (s *Search) Paste(text string) tea.Cmd {
	s.replaceOld()
	s.IsOld = false
	s.filter.Insert(strings.ReplaceAll(text[:min(len(text), maxPasted)], "\n", " "))
	return s.Typed()
}

// Run is a part of a line, which may be marked.
type Run struct {
	Text     string
	IsMarked bool
}

// runLine returns runs as one line; what is before the first marked one is cut if that would not be seen.
func runLine(th style.Theme, runs []Run, width int) string {
	var line strings.Builder
	end, seen := 0, false // of the first marked run, in cells
	for _, r := range runs {
		text := strings.NewReplacer("\n", " ", "\t", " ").Replace(terminal.ReplaceControls(r.Text))
		if !seen {
			end, seen = end+ansi.StringWidth(text), r.IsMarked
		}
		s := th.Muted
		if r.IsMarked {
			s = th.Selected
		}
		line.WriteString(s.Render(text))
	}
	out := line.String()
	if over := end - width; seen && over > 0 {
		out = ansi.TruncateLeft(out, over+2, "…")
	}
	return Clip(out, width)
}
