package v1

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

func settingsRoutes() []Route {
	return []Route{
		{get, "/config", "config.get", (*API).config},
		{patch, "/config", "config.update", (*API).changeConfig},
		{get, "/global/config", "global.config.get", (*API).globalConfig},
		{patch, "/global/config", "global.config.update", (*API).changeGlobalConfig},
		{put, "/auth/{providerID}", "auth.set", (*API).setAuth},
		{del, "/auth/{providerID}", "auth.remove", (*API).removeAuth},
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

// changeGlobalConfig tells every stream, so that clients read again what they show.
func (a *API) changeGlobalConfig(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.configure(r); err != nil {
		return err
	}
	p, err := a.place(r)
	if err != nil {
		p = Place{} // what was changed is of no directory
	}
	a.disposedAll(p)
	return a.globalConfig(w, r)
}

func (a *API) configure(r *http.Request) (map[string]jsontext.Value, error) {
	members, err := httpio.Decode[map[string]jsontext.Value](r)
	if err != nil {
		return nil, err
	}
	if members == nil {
		return nil, httpio.Invalid("body", "", "the body must be an object")
	}
	members = opencode.OnlyConfig(members)
	err = a.places.Configure(r.Context(), members)
	if e, ok := errors.AsType[*config.Error](err); ok {
		err = e.Unwrap() // what is wrong is what the client sent, not a file
	}
	return members, httpio.WithPart("body", err)
}

// credential is what a client wants to be kept for a provider: a key, or what a login gave.
type credential struct {
	Type     string            `json:"type" enum:"oauth,api,wellknown"`
	Key      string            `json:"key"`
	Metadata map[string]string `json:"metadata"` // of which nothing is kept

	Refresh       string `json:"refresh"`
	Access        string `json:"access"`
	Expires       *int64 `json:"expires"`   // of access, in milliseconds; 0 is never
	AccountID     string `json:"accountId"` // of which nothing is kept
	EnterpriseURL string `json:"enterpriseUrl"`
}

func (a *API) setAuth(w http.ResponseWriter, r *http.Request) error {
	c, err := httpio.Decode[credential](r)
	if err != nil {
		return err
	}
	id := r.PathValue("providerID")
	switch {
	case c.Type == "oauth":
		err = a.keepToken(r.Context(), id, c)
	case c.Type == "wellknown":
		err = httpio.Invalid("body", "type", "log in at an organisation with cairn auth login ADDRESS, which shows what its configuration does before it is read")
	case c.Type != "api":
		err = httpio.Invalid("body", "type", "type must be api, oauth or wellknown, got %q", httpio.Clip(c.Type, 40))
	case c.Key == "":
		err = httpio.Invalid("body", "key", "key is missing")
	default:
		err = httpio.WithPart("body", a.places.SetKey(r.Context(), id, c.Key))
	}
	if err != nil {
		return err
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
