package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/terminal"
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
	if m.offeredModel || ref.ProviderID != api.GuideProvider || ref.ID != api.GuideModel {
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

// beginLogin logs in at the provider with the method that the person chooses.
func beginLogin(m *model, l api.ProviderLogin) tea.Cmd {
	if len(l.Methods) == 1 {
		return useMethod(m, l, 0)
	}
	choice := &dialog.Choice{Title: "Log in at " + cmp.Or(l.Name, l.ID)}
	for i, method := range l.Methods[:min(len(l.Methods), 9)] {
		choice.Options = append(choice.Options, dialog.Reply{
			Key: strconv.Itoa(i + 1), Label: terminal.FirstLine(method.Label, 60),
			Do: func() tea.Cmd { return useMethod(m, l, i) },
		})
	}
	choice.Options = append(choice.Options, dialog.Reply{Key: "n", Label: "not now"})
	m.openDialog(choice)
	return nil
}

// useMethod logs in with the method of the index.
func useMethod(m *model, l api.ProviderLogin, method int) tea.Cmd {
	if l.Methods[method].Type == "api" {
		askForKey(m, l)
		return nil
	}
	return showLoginPage(m, l, method)
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

// showLoginPage begins a login, shows where the person logs in, asks for the code if there is one, and waits.
func showLoginPage(m *model, l api.ProviderLogin, method int) tea.Cmd {
	c := api.LoginClient{Client: m.api}
	var page api.LoginPage
	return m.callAPI("log in", func(ctx context.Context) (err error) {
		page, err = c.Begin(ctx, l.ID, method)
		return err
	}, func() tea.Cmd {
		title := "Log in at " + cmp.Or(l.Name, l.ID)
		body := []string{
			terminal.FirstLine(page.URL, 2000), "", terminal.FirstLine(page.Instructions, 400),
			"The address is in the clipboard too, if the terminal allows it.",
		}
		copied := tea.Raw(ansi.SetSystemClipboard(page.URL))
		if page.Method == "code" {
			in := dialog.NewLineInput(title+": the code that the page shows", "", func(code string) tea.Cmd {
				if code == "" { // without one the login would wait
					m.note = "the login at " + l.ID + " was stopped, since no code was entered"
					return nil
				}
				shown := &dialog.Text{Title: title, Body: []string{"The code is being checked."}}
				m.openDialog(shown)
				return awaitLogin(m, l, loginAnswer{method, code}, shown)
			})
			in.Body = body
			m.openDialog(in)
			return copied
		}
		shown := &dialog.Text{Title: title, Body: body}
		m.openDialog(shown)
		return tea.Batch(copied, awaitLogin(m, l, loginAnswer{method: method}, shown))
	})
}

// loginAnswer is what ends a login: its method, and the code of the person, "" without one.
type loginAnswer struct {
	method int
	code   string
}

// awaitLogin waits for the end of the login while its dialog is open.
func awaitLogin(m *model, l api.ProviderLogin, answer loginAnswer, shown dialog.Dialog) tea.Cmd {
	c, late := api.LoginClient{Client: m.api}, false
	var failed error
	return m.callAPI("log in", func(ctx context.Context) error {
		failed = c.Await(ctx, l.ID, answer.method, answer.code)
		late = errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		return nil
	}, func() tea.Cmd {
		switch open := slices.Contains(m.dialogs, shown); {
		case late && open:
			return awaitLogin(m, l, answer, shown)
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
