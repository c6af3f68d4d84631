package tui

import (
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestLongDiffOfAsk: a long diff has its size and the position in it, and a view on the whole screen whose closing key
// answers nothing.
func TestLongDiffOfAsk(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	a := editAsk("per_1")
	patch := "--- a\n+++ a\n@@ -1,200 +1,200 @@\n" + strings.Repeat("-old\n", 200) + strings.Repeat("+new\n", 200)
	a.Metadata = jsontext.Value(`{"diff": ` + strconv.Quote(patch) + `}`)
	addAsk(m, a)
	m.Update(armMsg{m.asks.presses})
	frame := func() string { s, _ := m.renderFrame(); return s }
	for _, want := range []string{"a.txt +200 -200", "lines 1-", " of 401", "ctrl+f: full screen"} {
		if !strings.Contains(frame(), want) {
			t.Errorf("%q is missing in\n%s", want, frame())
		}
	}
	pressKeys(m, tea.KeyPressMsg{Code: 'f', Mod: tea.ModCtrl})
	frame()
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyPgDown})
	if got := frame(); !strings.Contains(got, "lines 21-41 of 401") {
		t.Errorf("the whole screen:\n%s", got)
	}
	for range 3 { // the first one closes the text
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	if len(m.dialogs) != 0 || len(m.asks.pending) != 1 {
		t.Errorf("%d dialogs, %d asks", len(m.dialogs), len(m.asks.pending))
	}
}
