package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/offers"
)

// offerLogin shows the providers to a newcomer.
func offerLogin(m *model) tea.Cmd {
	if m.offeredLogin || !isNewcomer(m) {
		return nil
	}
	m.offeredLogin = true
	return showProviders(m, isNewcomer)
}

// isNewcomer reports whether no model can be used, and no prompt is typed or shown already.
func isNewcomer(m *model) bool {
	return m.offers.HasOnlyGuide() && m.session == nil && len(m.unsentPrompts) == 0 && m.editor.IsEmpty() &&
		len(m.dialogs) == 0
}

// offerModel names a model that was found, once, where the guide answers because none is chosen.
func offerModel(m *model) {
	ref := m.window.Model
	if m.offeredModel || ref.ProviderID != offers.GuideProvider || ref.ID != offers.GuideModel {
		return
	}
	if x := m.offers.FindModel(); x != nil && m.model == nil {
		m.offeredModel = true
		m.note = "the built-in guide answers, which is not a language model; /models offers " + x.Ref().String()
	}
}

// pickLogin shows the providers that can be logged in to.
func pickLogin(m *model) tea.Cmd { return showProviders(m, func(*model) bool { return true }) }

// showProviders shows the providers if they are still wanted when the list arrives.
func showProviders(m *model, wanted func(*model) bool) tea.Cmd {
	c := api.LoginClient{Client: m.api}
	var list []api.ProviderLogin
	return m.callAPI("list the providers", func(ctx context.Context) (err error) {
		list, err = c.ListProviders(ctx)
		return err
	}, func() tea.Cmd {
		if wanted(m) {
			m.openDialog(loginPicker(m, list))
		}
		return nil
	})
}

func loginPicker(m *model, list []api.ProviderLogin) *dialog.Picker {
	slices.SortStableFunc(list, func(a, b api.ProviderLogin) int { return describe.CompareProviders(a.ID, b.ID) })
	p := &dialog.Picker{Title: "Log in at a provider"}
	if m.offers.HasOnlyGuide() {
		p.Title += "; until then the built-in guide answers, which is not a language model"
		p.Closed = m.editor.Insert // a prompt that was typed at once
	}
	byID := map[string]api.ProviderLogin{}
	for _, l := range list {
		byID[l.ID] = l
		detail := l.ID
		if l.Connected {
			detail = "connected  " + l.ID
		}
		p.Items = append(p.Items, dialog.Entry{ID: l.ID, Label: cmp.Or(l.Name, l.ID), Detail: detail})
	}
	p.Pick = func(it dialog.Entry) tea.Cmd { return beginLogin(m, byID[it.ID]) }
	return p
}

// beginLogin logs in at the provider in the way that the person chooses.
func beginLogin(m *model, l api.ProviderLogin) tea.Cmd {
	key := func() tea.Cmd { askForKey(m, l); return nil }
	browser := func() tea.Cmd { return logInWithBrowser(m, l) }
	switch {
	case l.Browser && l.Key:
		m.openDialog(&dialog.Choice{Title: "Log in at " + cmp.Or(l.Name, l.ID), Options: []dialog.Reply{
			{Key: "b", Label: "with a browser", Do: browser},
			{Key: "k", Label: "with an API key", Do: key},
			{Key: "n", Label: "not now"},
		}})
		return nil
	case l.Browser:
		return browser()
	default:
		return key()
	}
}

// askForKey asks for the API key and stores it.
func askForKey(m *model, l api.ProviderLogin) {
	c := api.LoginClient{Client: m.api}
	in := dialog.NewLineInput("API key of "+cmp.Or(l.Name, l.ID)+" (not shown)", "", func(key string) tea.Cmd {
		if key == "" {
			return nil
		}
		return m.callAPI("store the key", func(ctx context.Context) error {
			return c.StoreKey(ctx, l.ID, key)
		}, func() tea.Cmd { return showModelsOf(m, l) })
	})
	in.Secret = true
	m.openDialog(in)
}

// logInWithBrowser shows where the person logs in, and waits.
func logInWithBrowser(m *model, l api.ProviderLogin) tea.Cmd {
	c := api.LoginClient{Client: m.api}
	var page api.LoginPage
	return m.callAPI("log in", func(ctx context.Context) (err error) {
		page, err = c.BeginBrowser(ctx, l.ID)
		return err
	}, func() tea.Cmd {
		shown := &dialog.Text{Title: "Log in at " + cmp.Or(l.Name, l.ID), Body: []string{
			page.URL, "", page.Instructions, "The address is in the clipboard too, if the terminal allows it.",
		}}
		m.openDialog(shown)
		return tea.Batch(tea.Raw(ansi.SetSystemClipboard(page.URL)), awaitLogin(m, l, shown))
	})
}

// awaitLogin waits for the end of the login while its dialog is open.
func awaitLogin(m *model, l api.ProviderLogin, shown dialog.Dialog) tea.Cmd {
	c, late := api.LoginClient{Client: m.api}, false
	var failed error
	return m.callAPI("log in", func(ctx context.Context) error {
		failed = c.AwaitBrowser(ctx, l.ID)
		late = errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		return nil
	}, func() tea.Cmd {
		switch open := slices.Contains(m.dialogs, shown); {
		case late && open:
			return awaitLogin(m, l, shown)
		case late:
			return nil
		}
		m.closeDialog(shown)
		if failed != nil {
			m.showError("log in", failed)
			return nil
		}
		return showModelsOf(m, l)
	})
}

// showModelsOf reads what is offered again and shows the models of the provider.
func showModelsOf(m *model, l api.ProviderLogin) tea.Cmd {
	c := m.api
	var read offers.PromptOffers
	return m.callAPI("list the models", func(ctx context.Context) error {
		read = offers.ReadOffers(ctx, c)
		return nil
	}, func() tea.Cmd {
		m.offers = read
		if slices.ContainsFunc(read.Models, func(x api.Model) bool { return x.ProviderID == l.ID }) {
			pickModelOf(m, l.ID+"/")
		} else {
			m.note = "logged in at " + l.ID + ", which offers no models here"
		}
		return nil
	})
}
