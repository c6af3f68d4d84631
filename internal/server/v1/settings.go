package v1

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
)

func settingsRoutes() []Route {
	return []Route{
		{get, "/config", "config.get", (*API).config},
		{patch, "/config", "config.update", (*API).changeConfig},
		{get, "/global/config", "global.config.get", (*API).globalConfig},
		{patch, "/global/config", "global.config.update", (*API).changeGlobalConfig},
		{put, "/auth/{providerID}", "auth.set", (*API).setAuth},
		{del, "/auth/{providerID}", "auth.remove", (*API).removeAuth},
		{get, "/provider/auth", "provider.auth", (*API).authMethods},
		{post, "/provider/{providerID}/oauth/authorize", "provider.oauth.authorize", (*API).authorize},
		{post, "/provider/{providerID}/oauth/callback", "provider.oauth.callback", (*API).authorize},
	}
}

func (a *API) config(w http.ResponseWriter, r *http.Request) error {
	return offer(a, w, r, a.places.Config)
}

func (a *API) globalConfig(w http.ResponseWriter, r *http.Request) error {
	v, err := a.places.UserConfig(r.Context())
	if err != nil {
		return err
	}
	return write(w, v)
}

// changeConfig changes the user's configuration, also where OpenCode writes into the directory: a project's file may not
// say most of it, and nobody asked for a file there. The answer is the body, as OpenCode's.
func (a *API) changeConfig(w http.ResponseWriter, r *http.Request) error {
	p, err := a.place(r)
	if err != nil {
		return err
	}
	members, err := a.configure(r)
	if err != nil {
		return err
	}
	a.disposed(p)
	return write(w, withoutNulls(members))
}

// withoutNulls leaves out what was to be taken out: no configuration has a null.
func withoutNulls(members map[string]jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for name, value := range members {
		var below map[string]jsontext.Value
		switch {
		case value.Kind() == 'n':
			continue
		case value.Kind() == '{' && json.Unmarshal(value, &below) == nil:
			if b, err := json.Marshal(withoutNulls(below), json.Deterministic(true)); err == nil {
				value = b
			}
		}
		out[name] = value
	}
	return out
}

func (a *API) changeGlobalConfig(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.configure(r); err != nil {
		return err
	}
	return a.globalConfig(w, r)
}

func (a *API) configure(r *http.Request) (map[string]jsontext.Value, error) {
	members, err := exchange.Decode[map[string]jsontext.Value](r)
	if err != nil {
		return nil, err
	}
	if members == nil {
		return nil, exchange.Bad("body", "", "the body must be an object")
	}
	members = opencode.OnlyConfig(members)
	err = a.places.Configure(r.Context(), members)
	if e, ok := errors.AsType[*config.Error](err); ok {
		err = e.Unwrap() // what is wrong is what the client sent, not a file
	}
	return members, exchange.In("body", err)
}

// credential is what a client wants to be kept for a provider.
type credential struct {
	Type     string            `json:"type" enum:"oauth,api,wellknown"`
	Key      string            `json:"key"`
	Metadata map[string]string `json:"metadata"` // of which nothing is kept
}

func (a *API) setAuth(w http.ResponseWriter, r *http.Request) error {
	c, err := exchange.Decode[credential](r)
	if err != nil {
		return err
	}
	switch {
	case c.Type == "oauth" || c.Type == "wellknown":
		return exchange.Bad("body", "type", "credentials of type %s cannot be kept yet: give an api key", c.Type)
	case c.Type != "api":
		return exchange.Bad("body", "type", "type must be api, oauth or wellknown, got %q", exchange.Clip(c.Type, 40))
	case c.Key == "":
		return exchange.Bad("body", "key", "key is missing")
	}
	if err := a.places.SetKey(r.Context(), r.PathValue("providerID"), c.Key); err != nil {
		return exchange.In("body", err)
	}
	return yes(w)
}

// removeAuth says yes whatever the id, also to one that no key can be kept under: as in OpenCode, it is gone afterwards.
func (a *API) removeAuth(w http.ResponseWriter, r *http.Request) error {
	if err := a.places.RemoveKey(r.Context(), r.PathValue("providerID")); err != nil {
		return err
	}
	return yes(w)
}

// authMethod is a way to give a provider its credential.
type authMethod struct {
	Type  string `json:"type" enum:"oauth,api"`
	Label string `json:"label"`
}

// authMethods lists the ways beside the plain key that every provider has: it is all there is.
func (a *API) authMethods(w http.ResponseWriter, r *http.Request) error {
	p, err := found(a, r, a.places.Providers)
	if err != nil {
		return err
	}
	out := map[string][]authMethod{}
	for _, v := range p.All {
		if len(v.Env) > 0 {
			out[v.ID] = []authMethod{{"api", "API key"}}
		}
	}
	return write(w, out)
}

// login is what a client says of a login.
type login struct {
	Method int               `json:"method"`
	Inputs map[string]string `json:"inputs"`
	Code   string            `json:"code"`
}

// authorize refuses: no provider has a login of its own here. OpenCode answers 500 then.
func (a *API) authorize(w http.ResponseWriter, r *http.Request) error {
	if _, err := exchange.Optional[login](r); err != nil {
		return err
	}
	p, err := found(a, r, a.places.Providers)
	if err != nil {
		return err
	}
	id := r.PathValue("providerID")
	known := map[string]bool{}
	for _, v := range p.All {
		known[v.ID] = true
	}
	if !known[id] {
		return exchange.Bad("params", "providerID", "there is no provider %q; there are %v", exchange.Clip(id, 80), firstOf(slices.Sorted(maps.Keys(known)), 8))
	}
	return exchange.Bad("body", "method", "%s has no login but an API key", id)
}

func firstOf(names []string, n int) []string { return names[:min(len(names), n)] }
