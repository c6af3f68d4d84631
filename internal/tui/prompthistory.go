package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// pickEarlierPrompt shows the earlier prompts of this place, the newest first. The chosen one takes the place of the
// typed text, which ctrl+_ brings back.
func pickEarlierPrompt(m *model) tea.Cmd {
	prompts := m.history.Prompts
	p := &dialog.Picker{Title: "Earlier prompts", Enter: "put it into the composer"}
	for i, text := range slices.Backward(prompts) {
		e := dialog.Entry{ID: strconv.Itoa(i), Label: terminal.FirstLine(text, 300)}
		if lines := strings.Count(text, "\n") + 1; lines > 1 {
			e.Detail = fmt.Sprintf("%d lines", lines)
		}
		p.Items = append(p.Items, e)
	}
	find := func(e dialog.Entry) string {
		i, _ := strconv.Atoi(e.ID) // of the list
		return prompts[i]
	}
	p.Search = find
	p.Preview = func(e dialog.Entry) []string { return append([]string{""}, strings.Split(find(e), "\n")...) }
	p.Pick = func(e dialog.Entry) tea.Cmd {
		m.editor.SetText(find(e))
		return nil
	}
	m.openDialog(p)
	return nil
}

// The bounds of the prompts that are put away: their number, and the bytes of one.
const (
	maxStash     = 20
	maxStashText = 1 << 20
)

// stashPrompt puts the typed text away; with an empty composer it brings the newest one back.
func stashPrompt(m *model) tea.Cmd {
	if text := strings.TrimSpace(m.editor.Text()); text != "" {
		if putAway(m, text) {
			m.editor.DiscardText()
		}
		return nil
	}
	n := len(m.stash)
	if n == 0 {
		m.note = "no prompt is put away; type one first, or /stash WORDS"
		return nil
	}
	m.editor.SetText(m.stash[n-1])
	m.stash = m.stash[:n-1]
	m.saveDraft() // first, so that a crash between both keeps the text twice
	m.saveStash()
	return nil
}

// putAway puts a text on the stash. It reports false if there is no room for it, as the note says.
func putAway(m *model, text string) bool {
	if len(m.stash) == maxStash {
		m.note = fmt.Sprintf("%d prompts are put away, which is the limit: bring one back first", maxStash)
		return false
	}
	if len(text) > maxStashText {
		m.note = "a prompt of more than 1 MiB cannot be put away"
		return false
	}
	m.stash = append(slices.Clip(m.stash), text)
	m.saveStash()
	return true
}

func (m *model) saveStash() {
	files := m.localFiles.findIn(strings.Join(m.stash, "\n"))
	err := m.options.Store.SaveStash(composer.Stash{Texts: m.stash, Files: files})
	if err != nil {
		m.note = "what is put away cannot be stored: " + err.Error()
	}
}

// describeStash says what is put away, "" without anything.
func (m *model) describeStash() string {
	n := len(m.stash)
	if n == 0 {
		return ""
	}
	more := ""
	if n > 1 {
		more = fmt.Sprintf(" and %d more", n-1)
	}
	how := "/stash"
	if key := m.keys.keyOf("stash"); key != "" {
		how = key
	}
	return "put away: " + terminal.FirstLine(m.stash[n-1], 120) + more + "; " + how + " brings it back"
}
