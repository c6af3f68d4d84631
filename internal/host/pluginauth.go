package host

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/session"
)

// credentialForm returns what is stored for a provider, in OpenCode's form; null if nothing is.
func credentialForm(store *auth.Store, provider string) (jsontext.Value, error) {
	c, ok, err := store.Get(provider)
	switch {
	case err != nil || !ok:
		return jsontext.Value("null"), err
	case c.Kind != auth.KindOAuth:
		return encodeForm(map[string]string{"type": "api", "key": c.Key.Reveal()}), nil
	}
	var expires int64
	if !c.Expires.IsZero() {
		expires = c.Expires.UnixMilli()
	}
	return encodeForm(map[string]any{
		"type": "oauth", "refresh": c.Refresh.Reveal(), "access": c.Access.Reveal(), "expires": expires,
	}), nil
}

// storeCredential stores what a login of a plugin gave.
func storeCredential(ctx context.Context, store *auth.Store, c plugin.Credential) error {
	if c.Key != "" {
		return store.Set(ctx, c.Provider, auth.NewSecret(c.Key))
	}
	t := auth.Token{Refresh: auth.NewSecret(c.Refresh), Access: auth.NewSecret(c.Access)}
	if c.Expires > 0 {
		t.Expires = time.UnixMilli(c.Expires)
	}
	return store.SetToken(ctx, c.Provider, t)
}

// noKey stands where a provider has a key, if a plugin sends its requests without one.
const noKey = "plugin"

// loadAuth asks the plugins for the options of the providers that they log in at and that a credential is stored for, and
// for models. It returns them as a configuration of these providers; what fails is a problem of the plugin.
func (s *pluginState) loadAuth(ctx context.Context, store *auth.Store, forms *pluginForms) map[string]any {
	out := map[string]any{}
	logins := s.Logins()
	for _, id := range slices.Sorted(maps.Keys(logins)) {
		stored, err := credentialForm(store, id)
		if err != nil || string(stored) == "null" || !logins[id].HasLoader {
			continue // not logged in
		}
		options, hasFetch, err := s.set.LoadAuth(ctx, id, forms.provider(id))
		if err != nil {
			s.problems["login at "+id], s.isIncomplete = err, true
			continue
		}
		if hasFetch {
			if s.transports == nil {
				s.transports = map[string]http.RoundTripper{}
			}
			s.transports[id] = s.set.Transport(id)
			if key := options["apiKey"]; key == nil || string(key) == `""` {
				options["apiKey"] = encodeForm(noKey)
			}
		}
		out[id] = map[string]any{"options": options}
	}
	for _, id := range s.ModelProviders() {
		stored, _ := credentialForm(store, id) // unreadable: as without one
		found, err := s.set.Models(ctx, id, forms.provider(id), stored)
		if err != nil {
			s.problems["models of "+id], s.isIncomplete = err, true
			continue
		}
		list, _ := out[id].(map[string]any)
		if list == nil {
			list = map[string]any{}
			out[id] = list
		}
		list["models"] = configureModels(found)
	}
	return out
}

// configureModels returns models in OpenCode's second form as the configuration has them.
func configureModels(found map[string]jsontext.Value) map[string]any {
	out := map[string]any{}
	for id, raw := range found {
		var m struct {
			Name         string         `json:"name"`
			Limit        jsontext.Value `json:"limit"`
			Capabilities struct {
				Temperature bool `json:"temperature"`
				Reasoning   bool `json:"reasoning"`
				Attachment  bool `json:"attachment"`
				ToolCall    bool `json:"toolcall"`
			} `json:"capabilities"`
			Cost struct {
				Input  float64 `json:"input"`
				Output float64 `json:"output"`
			} `json:"cost"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		c := m.Capabilities
		one := map[string]any{
			"name": strings.TrimSpace(m.Name), "temperature": c.Temperature, "reasoning": c.Reasoning, "attachment": c.Attachment,
			"tool_call": c.ToolCall, "cost": map[string]float64{"input": m.Cost.Input, "output": m.Cost.Output},
		}
		if m.Limit.Kind() == '{' {
			one["limit"] = m.Limit
		}
		out[id] = one
	}
	return out
}

// logInWith logs in at a provider with a method of a plugin, and stores the credential.
func (l *locationCache) logInWith(
	ctx context.Context, at session.Location, id string, method int, dialog plugin.LoginDialog,
) error {
	p, release, err := l.acquire(ctx, at.Directory)
	if err != nil {
		return err
	}
	defer release()
	login, ok := p.plugins.Logins()[id]
	if !ok || method < 0 || method >= len(login.Methods) {
		return session.Errorf(session.CodeInvalid, "no plugin has the method %d for %q", method, id)
	}
	c, err := p.plugins.set.LogIn(ctx, id, method, dialog)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "the login at %s: %v", id, err)
	}
	if err := storeCredential(ctx, l.models.Auth, c); err != nil {
		return fmt.Errorf("the credential of %s could not be stored: %w", c.Provider, err)
	}
	return nil
}

// provider returns a provider in OpenCode's form, null if it does not exist.
func (f *pluginForms) provider(id string) jsontext.Value {
	_, form := f.Model(session.ModelRef{ProviderID: id})
	return form
}
