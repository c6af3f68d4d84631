package tui

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/modelfile"
)

// pickModel shows the models that can be used.
func pickModel(m *model) tea.Cmd {
	pickModelOf(m, "")
	return nil
}

// pickModelOf shows the models whose names have the filter: the favourites, then those that were chosen lately, then
// the rest.
func pickModelOf(m *model, filter string) {
	p := &dialog.Picker{Title: "Models", Hint: "ctrl+f: favourite, or no longer"}
	p.SetFilter(filter)
	p.Items = modelItems(m.offers.Models, m.options.Models.Load())
	p.Actions = map[string]dialog.Action{"ctrl+f": {Do: func(e dialog.Entry) tea.Cmd {
		return changeModels(m, func(ctx context.Context) (modelfile.Lists, error) {
			return m.options.Models.ToggleFavourite(ctx, e.ID)
		}, func(l modelfile.Lists) {
			p.Items = modelItems(m.offers.Models, l)
			p.Select(e.ID)
		})
	}}}
	p.Pick = func(it dialog.Entry) tea.Cmd {
		for _, x := range m.offers.Models {
			if ref := x.Ref(); ref.String() == it.ID {
				m.model = &ref
			}
		}
		m.note = "from the next prompt on: " + it.ID
		return changeModels(m, func(ctx context.Context) (modelfile.Lists, error) {
			return m.options.Models.NoteUse(ctx, it.ID)
		}, func(modelfile.Lists) {})
	}
	p.Select(m.modelName())
	m.openDialog(p)
}

// changeModels changes the kept lists of models, and then shows them.
func changeModels(m *model, change func(context.Context) (modelfile.Lists, error), show func(modelfile.Lists)) tea.Cmd {
	var l modelfile.Lists
	return m.callAPI("keep the models", func(ctx context.Context) (err error) {
		l, err = change(ctx)
		return err
	}, func() tea.Cmd {
		show(l)
		return nil
	})
}

// modelItems returns the models in the order of the picker.
func modelItems(all []api.Model, l modelfile.Lists) []dialog.Entry {
	rank := func(e dialog.Entry) int {
		if i := slices.Index(l.Favourites, e.ID); i >= 0 {
			return i
		}
		if i := slices.Index(l.Recent, e.ID); i >= 0 {
			return len(l.Favourites) + i
		}
		return len(l.Favourites) + len(l.Recent)
	}
	items := make([]dialog.Entry, 0, len(all))
	for _, x := range all {
		e := dialog.Entry{ID: x.Ref().String(), Label: cmp.Or(x.Name, x.ID), Detail: x.Ref().String()}
		switch {
		case slices.Contains(l.Favourites, e.ID):
			e.Detail = "favourite  " + e.Detail
		case slices.Contains(l.Recent, e.ID):
			e.Detail = "recent  " + e.Detail
		}
		items = append(items, e)
	}
	slices.SortStableFunc(items, func(a, b dialog.Entry) int { return rank(a) - rank(b) })
	return items
}
