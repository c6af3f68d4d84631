package dialog

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// Entry is one line of a Picker.
type Entry struct {
	ID     string
	Branch string // the lines of a tree before the label
	Label  string
	Detail string // at the right end
	Below  []Run  // a second line; nil without
}

// Picker chooses one of many items; typed text filters them.
type Picker struct {
	Title string
	Items []Entry
	Pick  func(Entry) tea.Cmd
	// Actions are the actions of other keys on the selected item, Hint names them. An action whose closes is true
	// closes the picker.
	Actions map[string]Action
	Hint    string
	Enter   string               // what Enter does; "" is "choose"
	Closed  func(filter string)  // called when it is closed without a choice; may be nil
	Preview func(Entry) []string // lines about the selected item; nil without
	Beside  bool                 // the session stays visible above the list
	Search  func(Entry) string   // the text of an item that the filter searches in; nil is what is shown of it
	// Selected is called when another item is selected by a key; may be nil.
	Selected func(Entry) tea.Cmd
	Status   string // a line below the filter, instead of one that says why there are no items; "" without

	filter composer.Editor
	at     int
	search *Search // that finds the items, so that the filter hides none; nil for other lists
}

// Action is the action of a key on the selected item of a Picker.
type Action struct {
	Do     func(Entry) tea.Cmd
	Closes bool
}

// filterItems returns the items that have all words of the filter.
func (p *Picker) filterItems() []Entry {
	if p.search != nil {
		return p.Items
	}
	words := strings.Fields(strings.ToLower(p.filter.Text()))
	var out []Entry
	for _, it := range p.Items {
		text, ok := it.Label+" "+it.Detail+" "+it.ID, true
		if p.Search != nil {
			text = p.Search(it)
		}
		text = strings.ToLower(text)
		for _, w := range words {
			ok = ok && strings.Contains(text, w)
		}
		if ok {
			out = append(out, it)
		}
	}
	return out
}

// PressKey implements Dialog.
func (p *Picker) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	was := p.selectedItem()
	cmd, closed := p.handleKey(k)
	if now := p.selectedItem(); p.Selected != nil && !closed && now.ID != was.ID && now.ID != "" {
		cmd = tea.Batch(cmd, p.Selected(now))
	}
	return cmd, closed
}

// selectedItem returns the selected item, an empty one if the filter hides all.
func (p *Picker) selectedItem() Entry {
	items := p.filterItems()
	if len(items) == 0 {
		return Entry{}
	}
	return items[min(p.at, len(items)-1)]
}

// handleKey handles a key and reports whether the dialog closes. The keys of Actions have precedence over the list's,
// and what remains edits the filter.
func (p *Picker) handleKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	// The list may have become shorter since the last key.
	items, key := p.filterItems(), k.String()
	p.at = min(p.at, max(len(items)-1, 0))
	if a, ok := p.Actions[key]; ok {
		if len(items) == 0 {
			return nil, false
		}
		return a.Do(items[p.at]), a.Closes
	}
	// Move in the list, close or choose.
	switch key {
	case "up", "ctrl+p", "shift+tab":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n", "tab":
		p.at = min(p.at+1, max(len(items)-1, 0))
	case "pgup":
		p.at = max(p.at-10, 0)
	case "pgdown":
		p.at = min(p.at+10, max(len(items)-1, 0))
	case "esc", "ctrl+c":
		if p.Closed != nil {
			p.Closed(p.filter.Text())
		}
		return nil, true
	case "enter":
		if len(items) == 0 {
			return nil, false
		}
		return p.Pick(items[p.at]), true
	// The key edits the filter: begin at the first match.
	default:
		if composer.EditLine(&p.filter, k) {
			p.at = 0
		}
	}
	return nil, false
}

// SetFilter sets the text that items must have.
func (p *Picker) SetFilter(text string) { p.filter.SetText(text) }

// Select selects an item, unless the filter hides it.
func (p *Picker) Select(id string) {
	p.at = max(slices.IndexFunc(p.filterItems(), func(it Entry) bool { return it.ID == id }), 0)
}

// PasteText implements Dialog.
func (p *Picker) PasteText(text string) {
	p.filter.Insert(terminal.FirstLine(text, 200))
	p.at = 0
}

// Remove takes an item away that no longer exists.
func (p *Picker) Remove(id string) {
	for i, it := range p.Items {
		if it.ID == id {
			p.Items = append(p.Items[:i:i], p.Items[i+1:]...)
			return
		}
	}
}

// RenderLines implements Dialog.
func (p *Picker) RenderLines(th style.Theme, width, height int) []string {
	// Prepare what has a fixed height: hints, the title, the filter and the preview.
	items := p.filterItems()
	p.at = min(p.at, max(len(items)-1, 0))
	hint := "enter: " + cmp.Or(p.Enter, "choose") + "  esc: close"
	if p.Hint != "" {
		hint = "enter: " + cmp.Or(p.Enter, "choose") + "  " + p.Hint + "  esc: close"
	}
	hints := Wrap(hint, width)
	var lines []string
	for _, l := range Wrap(p.Title, width) {
		lines = append(lines, th.Heading.Render(l))
	}
	lines = append(lines, Clip("/ "+p.filterLine(th, width-2), width))
	if p.Status != "" {
		for _, l := range Wrap(p.Status, width) {
			lines = append(lines, th.Muted.Render(l))
		}
	}
	// The preview takes what is left beside a few items.
	var preview []string
	if p.Preview != nil && len(items) > 0 {
		preview = p.Preview(items[p.at])
		preview = preview[:min(len(preview), max(height-len(lines)-6, 0))]
	}
	// The items get the remaining lines; the window follows the chosen one.
	room := max(height-len(lines)-len(preview)-len(hints), 1)
	if p.search != nil {
		room = max(room/2, 1) // of two lines each
	}
	part, first := windowOf(items, p.at, room)
	for i, it := range part {
		lines = append(lines, itemLine(th, it, first+i == p.at, width))
		if it.Below != nil {
			lines = append(lines, "    "+runLine(th, it.Below, width-4))
		}
	}
	// Say why there are no items, then add the preview and the hints.
	switch {
	case p.Status != "":
	case len(p.Items) == 0:
		lines = append(lines, th.Muted.Render("the list is empty"))
	case len(items) == 0:
		lines = append(lines, th.Muted.Render("nothing matches"))
	}
	for _, l := range preview {
		lines = append(lines, th.Muted.Render(Clip(terminal.FirstLine(l, 400), width)))
	}
	for _, l := range hints {
		lines = append(lines, th.Muted.Render(l))
	}
	return lines
}

// filterLine shows the typed text, or what typing does.
func (p *Picker) filterLine(th style.Theme, width int) string {
	switch text := terminal.FirstLine(p.filter.Text(), 100); {
	case text == "" && p.search != nil:
		return th.Muted.Render("type to search")
	case text == "":
		return th.Muted.Render("type to filter")
	case p.search == nil:
		return text
	case p.search.IsOld:
		return th.Selected.Render(text)
	}
	return p.filter.RenderLine(width)
}

func itemLine(th style.Theme, it Entry, selected bool, width int) string {
	label, detail := it.Branch+terminal.FirstLine(it.Label, 300), terminal.FirstLine(it.Detail, 80)
	room := width - ansi.StringWidth(detail) - 3
	if room < 10 {
		detail, room = "", width-2
	}
	label = Clip(label, room)
	pad := strings.Repeat(" ", max(width-2-ansi.StringWidth(label)-ansi.StringWidth(detail), 0))
	if selected {
		return th.Selected.Render("> " + label + pad + detail)
	}
	return "  " + th.Text.Render(label) + pad + th.Muted.Render(detail)
}
