package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

func offerRoutes() []Route {
	return []Route{
		{get, "/agent", "app.agents", (*API).agents},
		{get, "/command", "command.list", (*API).commands},
		{get, "/skill", "app.skills", (*API).skills},
		{get, "/experimental/tool", "tool.list", (*API).tools},
		{get, "/experimental/tool/ids", "tool.ids", (*API).toolIDs},
		{get, "/config/providers", "config.providers", (*API).usableProviders},
		{get, "/provider", "provider.list", (*API).providers},
	}
}

func (a *API) agents(w http.ResponseWriter, r *http.Request) error {
	return offer(a, w, r, a.places.Agents)
}

func (a *API) commands(w http.ResponseWriter, r *http.Request) error {
	return offer(a, w, r, a.places.Commands)
}

func (a *API) skills(w http.ResponseWriter, r *http.Request) error {
	return offer(a, w, r, a.places.Skills)
}

// tools lists the tools. The model must be named, as OpenCode has it, and changes nothing here.
func (a *API) tools(w http.ResponseWriter, r *http.Request) error {
	for _, name := range []string{"provider", "model"} {
		if _, err := needed(r, name); err != nil {
			return err
		}
	}
	return offer(a, w, r, a.places.Tools)
}

func (a *API) toolIDs(w http.ResponseWriter, r *http.Request) error {
	list, err := found(a, r, a.places.Tools)
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return write(w, ids)
}

// usableProviders lists those that can be used now.
func (a *API) usableProviders(w http.ResponseWriter, r *http.Request) error {
	p, err := found(a, r, a.places.Providers)
	if err != nil {
		return err
	}
	return write(w, usable{p.usable(), p.Default})
}

type usable struct {
	Providers []opencode.Provider `json:"providers"`
	Default   map[string]string   `json:"default"`
}

type allProviders struct {
	All       []opencode.Provider `json:"all"`
	Default   map[string]string   `json:"default"`
	Connected []string            `json:"connected"`
}

func (a *API) providers(w http.ResponseWriter, r *http.Request) error {
	p, err := found(a, r, a.places.Providers)
	if err != nil {
		return err
	}
	return write(w, allProviders{p.All, p.Default, p.Connected})
}

// needed returns a query parameter that must be there.
func needed(r *http.Request, name string) (string, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return "", httpio.Invalid("query", name, "%s is missing", name)
	}
	return q.Get(name), nil
}
