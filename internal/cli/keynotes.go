package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// CheckKeys checks the stored keys in the background, because a keyring may be slow. The returned function waits for
// the check and notes the keys of a provider, or of all with "", that cannot be used.
func (a *Invocation) CheckKeys(ctx context.Context) (tell func(id string)) {
	store, err := a.OpenKeys()
	if err != nil {
		return func(string) {} // opening the keys reports it
	}
	found := make(chan []auth.Problem, 1)
	go func() { // ends with its result, which the channel holds
		list, _ := store.ListProblems(ctx) // an unreadable file is reported where keys are needed
		found <- list
	}()
	return func(id string) {
		for _, t := range <-found {
			if id == "" || id == t.Provider {
				a.Note(t.Err.Error())
			}
		}
	}
}

// CheckKeyOverrides looks in the background for keys of the environment that replace stored ones which cannot be read.
// The returned function waits for the result and notes the replaced key of a provider.
func (a *Invocation) CheckKeyOverrides(ctx context.Context) (tell func(id string)) {
	texts := make(chan map[string]string, 1)
	go func() { texts <- a.keyOverrides(ctx) }() // as above
	return func(id string) {
		if text := (<-texts)[id]; text != "" {
			a.Note(text)
		}
	}
}

// keyOverrides returns the notes of CheckKeyOverrides by provider. It considers only keys that are both in the
// environment and in the keyring.
func (a *Invocation) keyOverrides(ctx context.Context) map[string]string {
	store, err := a.OpenKeys()
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
		if err != nil || ctx.Err() != nil || !a.hasEnv(p.Env) {
			continue
		}
		if got, ok, err := store.Get(p.ID, p.Env...); ok && err == nil && got.Instead != nil {
			out[p.ID] = keyOverrideNote(got)
		}
	}
	return out
}

// NoteOwnKeys notes the providers whose key is in this environment while another process, the owner, does the work and
// cannot use them: usable are the models that it lists. With a provider it considers that one only. Without an owner it
// notes nothing.
func (a *Invocation) NoteOwnKeys(owner, provider string, usable []api.Model) {
	if owner == "" || !a.mayHoldKey() {
		return
	}
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return
	}
	for _, p := range c.Providers() {
		ofIt := func(m api.Model) bool { return m.ProviderID == p.ID }
		if len(p.Env) > 0 && a.Env(p.Env[0]) != "" && !slices.ContainsFunc(usable, ofIt) &&
			(provider == "" || provider == p.ID) {
			a.Note(DescribeOwnKey(p.Env[0], owner, p.ID))
		}
	}
}

// mayHoldKey reports whether the environment has a variable that the catalog names. It is faster than the catalog.
func (a *Invocation) mayHoldKey() bool {
	return slices.ContainsFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return catalog.MayName(name) && a.Env(name) != ""
	})
}

// DescribeOwnKey says why the variable of this process has no effect, and the next step.
func DescribeOwnKey(variable, owner, provider string) string {
	return variable + " is set here, but " + owner + " does the work, with its own environment. Set it there, " +
		"or store the key with: cairn auth login " + provider
}

func (a *Invocation) hasEnv(names []string) bool {
	for _, name := range names {
		if a.Env(name) != "" {
			return true
		}
	}
	return false
}

// keyOverrideNote says which credential is used in place of which.
func keyOverrideNote(c auth.Credential) string {
	why := c.Instead.Error()
	if u, ok := errors.AsType[*auth.Unreachable](c.Instead); ok {
		why = u.Description()
	}
	return fmt.Sprintf("%s; the one in %s is used instead", why, c.From)
}

// ProviderOf is the provider of a model that is written with it.
func ProviderOf(model string) string {
	id, _, _ := strings.Cut(model, "/")
	return id
}

// CollectSecrets returns the keys, tokens and passwords that are stored, configured, or in the environment, and those
// of the server. It notes those that cannot be read, because an export cannot remove them.
func (a *Invocation) CollectSecrets(ctx context.Context) ([]string, error) {
	dirs, err := config.FindDirectories(a.Env)
	if err != nil {
		return nil, err
	}
	o, err := a.HostOptions("")
	if err != nil {
		return nil, err
	}
	cfg, err := a.Host.Config(ctx, o)
	if err != nil { // a broken one has none in force
		cfg = nil
	}
	secrets, unreadable, err := transfer.SecretSources{Data: dirs.Data, Env: a.Env, Config: cfg}.Collect(ctx)
	for _, why := range unreadable {
		a.Note("this stored key cannot be read, so what leaves may contain it: " + why.Error())
	}
	return secrets, err
}
