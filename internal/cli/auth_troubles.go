package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
)

// heedKeys looks at the kept keys while something else goes on: a keyring may take its time. tell waits and says which of
// them cannot be used, those of a provider or all for "".
func (a *app) heedKeys(ctx context.Context) (tell func(id string)) {
	store, err := a.keys()
	if err != nil {
		return func(string) {} // told by who needs the folder
	}
	found := make(chan []auth.Trouble, 1)
	go func() { // whoever asks waits for it; whoever does not ends, and it with him
		list, _ := store.Troubles(ctx) // that nothing can be read is told by who needs keys
		found <- list
	}()
	return func(id string) {
		for _, t := range <-found {
			if id == "" || id == t.Provider {
				a.note(t.Err.Error())
			}
		}
	}
}

// heedStandIns looks for keys of the environment that stand in for kept ones, while something else goes on. tell waits and
// says it of a provider.
func (a *app) heedStandIns(ctx context.Context) (tell func(id string)) {
	texts := make(chan map[string]string, 1)
	go func() { texts <- a.standIns(ctx) }() // as above
	return func(id string) {
		if text := (<-texts)[id]; text != "" {
			a.note(text)
		}
	}
}

// standIns are those, by their providers. Only keys that stand in the environment and in the keyring are looked for.
func (a *app) standIns(ctx context.Context) map[string]string {
	store, err := a.keys()
	if err != nil {
		return nil
	}
	list, err := store.List()
	if err != nil || len(list) == 0 {
		return nil
	}
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, k := range list {
		p, err := c.Provider(k.Provider)
		if err != nil || ctx.Err() != nil || !a.inEnvironment(p.Env) {
			continue
		}
		if got, ok, err := store.Get(p.ID, p.Env...); ok && err == nil && got.Instead != nil {
			out[p.ID] = standsIn(got)
		}
	}
	return out
}

func (a *app) inEnvironment(names []string) bool {
	for _, name := range names {
		if a.Env(name) != "" {
			return true
		}
	}
	return false
}

// standsIn says whose place a credential takes.
func standsIn(c auth.Credential) string {
	why := c.Instead.Error()
	if u, ok := errors.AsType[*auth.Unreachable](c.Instead); ok {
		why = u.What()
	}
	return fmt.Sprintf("%s; the one in %s is used instead", why, c.From)
}

// providerOf is the provider of a model that is written with it.
func providerOf(model string) string {
	id, _, _ := strings.Cut(model, "/")
	return id
}
