package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestThemePicker: the selected theme is shown at once, Escape brings the old one back, and Enter stores the new one.
func TestThemePicker(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.options.Env = func(string) string { return "" }
	m.theme, _ = style.New("", m.options.Env) // the default exists
	openTestSession(m)
	stored := ""
	m.options.StoreSetting = func(_ context.Context, key, value string) (string, error) {
		stored = key + " " + value
		return "/home/cairn.json", nil
	}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd { m.Update(f(t.Context())); return nil }
	render := func() string { return m.theme.Accent.Render("x") }
	before := render()
	for _, choose := range []rune{tea.KeyEscape, tea.KeyEnter} {
		pickTheme(m)
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyDown})
		m.View()
		if render() == before || m.themeName != "dark" || !strings.Contains(strings.Join(m.frame, "\n"), "replace foo by bar") {
			t.Errorf("theme %s, preview:\n%s", m.themeName, strings.Join(m.frame, "\n"))
		}
		if pressKeys(m, tea.KeyPressMsg{Code: choose}); (render() == before) != (choose == tea.KeyEscape) {
			t.Errorf("after %c the theme is %s", choose, m.themeName)
		}
	}
	if stored != "terminal.theme dark" || !strings.Contains(m.note, "stored in /home/cairn.json") {
		t.Errorf("stored %q, the note is %q", stored, m.note)
	}
}
