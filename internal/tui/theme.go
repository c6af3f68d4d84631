package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// themeKey is the user's setting of the theme.
const themeKey = "terminal.theme"

// pickTheme lists the themes below a preview: the session is drawn in the selected theme. The chosen one is stored in
// the user's configuration.
func pickTheme(m *model) tea.Cmd {
	before := m.themeName
	p := &dialog.Picker{Title: "Themes", Enter: "use and store it", Beside: true}
	for _, name := range style.ListNames() {
		p.Items = append(p.Items, dialog.Entry{ID: name, Label: name})
	}
	p.Selected = func(e dialog.Entry) tea.Cmd { m.setTheme(e.ID); return nil }
	p.Closed = func(string) { m.setTheme(before) }
	p.Pick = func(e dialog.Entry) tea.Cmd { return takeTheme(m, e.ID) }
	p.Select(before)
	if m.options.Env("NO_COLOR") != "" {
		m.note = "NO_COLOR is set: themes have no colours"
	}
	m.openDialog(p)
	return nil
}

// setTheme draws the screen in a theme.
func (m *model) setTheme(name string) {
	if th, err := style.New(name, m.options.Env); err == nil {
		m.theme, m.themeName = th, name
		m.transcript.SetTheme(th)
	}
}

// takeTheme draws the screen in a theme and stores it.
func takeTheme(m *model, name string) tea.Cmd {
	m.setTheme(name)
	return storeSetting(m, themeKey, name)
}

// storeSetting stores a setting in the user's configuration, and says where.
func storeSetting(m *model, key, value string) tea.Cmd {
	if m.options.StoreSetting == nil {
		m.note = key + " is " + value + " until cairn is left"
		return nil
	}
	var file string
	return m.callAPI("store "+key, func(ctx context.Context) (err error) {
		file, err = m.options.StoreSetting(ctx, key, value)
		return err
	}, func() tea.Cmd {
		m.note = key + " is " + value + ", stored in " + file
		return nil
	})
}
