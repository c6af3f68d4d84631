package tui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/modelfile"
)

// TestModelOrder: the picker shows favourites, then recent models, then the rest, also in the next start.
func TestModelOrder(t *testing.T) {
	file := modelfile.New(filepath.Join(t.TempDir(), "models.json"))
	begin := func() *model {
		m := newTestModel(t, composer.DraftFile{})
		m.options.Models = file
		for _, id := range []string{"a", "b", "c", "d"} {
			m.offers.Models = append(m.offers.Models, api.Model{ID: id, ProviderID: "p"})
		}
		m.run = func(f func(context.Context) tea.Msg) tea.Cmd { m.Update(f(t.Context())); return nil }
		return m
	}
	order := func(m *model) string {
		var names []string
		for _, e := range m.dialogs[0].(*dialog.Picker).Items {
			names = append(names, e.ID)
		}
		return strings.Join(names, " ")
	}
	m := begin()
	pickModel(m)
	typeText(m, "p/c")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	pickModel(m)
	typeText(m, "p/d")
	pressKeys(m, tea.KeyPressMsg{Code: 'f', Mod: tea.ModCtrl})
	if got, want := order(m), "p/d p/c p/a p/b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m = begin()
	pickModel(m)
	if got, want := order(m), "p/d p/c p/a p/b"; got != want {
		t.Errorf("in the next start: got %s, want %s", got, want)
	}
}
