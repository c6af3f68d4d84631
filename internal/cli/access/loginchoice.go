package access

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// loginChoice is a provider that can be logged in to.
type loginChoice struct {
	ID, name     string
	browser, key bool // how
}

// maxChoices bounds the list of providers that match what was typed.
const maxChoices = 20

// maxTries bounds how often the provider is asked for.
const maxTries = 10

// chooseProvider asks the person at the terminal for a provider.
func chooseProvider(ctx context.Context, inv *cli.Invocation) (loginChoice, error) {
	// Without a terminal, say how to name the provider.
	missing := cli.UsageErrorf(
		"the provider is missing; run cairn auth login PROVIDER, for example openai, anthropic or openrouter",
	)
	if inv.Terminal == nil {
		return loginChoice{}, missing
	}
	all, err := listLoginChoices()
	if err != nil {
		return loginChoice{}, err
	}
	tty, err := inv.Terminal()
	if err != nil {
		return loginChoice{}, missing
	}
	defer tty.Close()
	// Ask at the terminal itself, since stdin may hold a key. Begin with the common providers.
	screen, in := terminal.NewTerminalStream(tty, inv.Err.Color), bufio.NewReader(io.LimitReader(tty, 64<<10))
	shown := slices.DeleteFunc(slices.Clone(all), func(c loginChoice) bool {
		return !slices.Contains(describe.CommonProviders(), c.ID)
	})
	rest := fmt.Sprintf("%d others are found by a part of their name", len(all)-len(shown))
	// The end of the input counts as an empty answer.
	readAnswer := func(question string) (string, error) {
		screen.Printf("%s > ", question)
		text, err := terminal.ReadTyped(ctx, func() (string, error) { return in.ReadString('\n') })
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return strings.ToLower(strings.TrimSpace(text)), err
	}
	// Ask until one provider is found. Each answer searches all providers; several matches become the next list.
	for range maxTries {
		for i, c := range shown {
			screen.Printf("%4d  %-20s %s\n", i+1, c.ID, c.name)
		}
		screen.Printf("      %s\n", rest)
		text, err := readAnswer("Provider, by number or name")
		if err != nil || text == "" {
			return loginChoice{}, cmp.Or(err, errNoProvider)
		}
		found := findChoices(all, shown, text)
		// Found. If there are two ways to log in, ask for the way.
		switch {
		case len(found) == 1 && found[0].browser && found[0].key:
			text, err := readAnswer("With a browser, or with an API key? b/k")
			found[0].browser = text != "k"
			return found[0], err
		case len(found) == 1:
			return found[0], nil
		// Invalid: show why, and ask again.
		case len(found) == 0:
			rest = "no provider is named " + terminal.FirstLine(text, 40)
		default:
			shown = found[:min(len(found), maxChoices)]
			rest = fmt.Sprintf("%s match %s", terminal.FormatPlural(len(found), "provider"), terminal.FirstLine(text, 40))
		}
	}
	return loginChoice{}, errNoProvider
}

var errNoProvider = errors.New("no provider was chosen; nothing was done")

// findChoices returns what the typed text means: the number of a shown one, an id, or a part of names.
func findChoices(all, shown []loginChoice, text string) []loginChoice {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(shown) {
		return shown[n-1 : n]
	}
	var found []loginChoice
	for _, c := range all {
		if c.ID == text {
			return []loginChoice{c}
		}
		if strings.Contains(c.ID, text) || strings.Contains(strings.ToLower(c.name), text) {
			found = append(found, c)
		}
	}
	return found
}

// listLoginChoices returns the providers of the catalog that take a key or have a login with a browser.
func listLoginChoices() ([]loginChoice, error) {
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, err
	}
	browser := models.BrowserLogins()
	var out []loginChoice
	for _, p := range c.Providers() {
		if browser[p.ID] != "" || len(p.Env) > 0 {
			out = append(out, loginChoice{p.ID, cmp.Or(p.Name, p.ID), browser[p.ID] != "", len(p.Env) > 0})
		}
	}
	slices.SortFunc(out, func(a, b loginChoice) int { return describe.CompareProviders(a.ID, b.ID) })
	return out, nil
}
