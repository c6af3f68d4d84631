package v2

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// showHealth says that the server works; more with all=1. One that can only be read from is not healthy: that is an
// error, but for those who ask for all.
func (a *API) showHealth(w http.ResponseWriter, r *http.Request) error {
	err := a.condition()
	if !full(r) {
		if err != nil {
			return err
		}
		return write(w, api.Health{Healthy: true})
	}
	h := a.health
	if err != nil {
		h.Healthy, h.Problem = false, httpio.PublicError(err).Message
	}
	return write(w, h)
}

func (a *API) location(w http.ResponseWriter, r *http.Request) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	info, err := a.locations.Location(r.Context(), l)
	if err != nil {
		return err
	}
	return write(w, info)
}

func (a *API) agents(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]session.Agent, error) {
		list, err := a.locations.Agents(r.Context(), l)
		for i := range list {
			if list[i].Permissions == nil {
				list[i].Permissions = []session.Rule{}
			}
		}
		return list, err
	})
}

func (a *API) skills(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]api.Skill, error) {
		list, err := a.locations.Skills(r.Context(), l)
		if !full(r) {
			list = slices.DeleteFunc(list, func(s api.Skill) bool { return s.Problem != "" })
		}
		return list, err
	})
}

func (a *API) commands(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]api.Command, error) {
		list, err := a.locations.Commands(r.Context(), l)
		for i := range list {
			if !full(r) {
				list[i].Source, list[i].Hints = "", nil
			}
		}
		return list, err
	})
}

func (a *API) expand(w http.ResponseWriter, r *http.Request) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	in, err := httpio.Decode[api.ExpandRequest](r)
	if err != nil {
		return err
	}
	out, err := a.locations.Expand(r.Context(), l, in)
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return write(w, api.Data[api.Expanded]{Data: out})
}

func (a *API) models(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]api.Model, error) {
		list, err := a.locations.Models(r.Context(), l)
		for i := range list {
			list[i].API = completed(list[i].API)
		}
		return list, err
	})
}

func (a *API) providers(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]api.Provider, error) {
		list, err := a.locations.Providers(r.Context(), l)
		for i := range list {
			list[i].API = completed(list[i].API)
		}
		return list, err
	})
}

// completed adds what OpenCode's document demands of a native API.
func completed(m api.ModelAPI) api.ModelAPI {
	if m.Type == "native" && m.Settings == nil {
		m.Settings = jsontext.Value("{}")
	}
	return m
}

func (a *API) provider(w http.ResponseWriter, r *http.Request) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	info, err := a.locations.Location(r.Context(), l)
	if err != nil {
		return err
	}
	list, err := a.locations.Providers(r.Context(), l)
	if err != nil {
		return err
	}
	want := r.PathValue("providerID")
	var names []string
	for _, p := range list {
		if p.ID == want {
			p.API = completed(p.API)
			return write(w, api.Located[api.Provider]{Location: info, Data: p})
		}
		if len(names) < maxNearest {
			names = append(names, p.ID)
		}
	}
	return session.NotFound("provider", want, names...)
}

// maxNearest bounds the names that a refusal offers.
const maxNearest = 8

// explain says where the settings of the location come from.
func (a *API) explain(w http.ResponseWriter, r *http.Request) error {
	if a.explainer == nil {
		return session.NotFound("path", r.URL.Path)
	}
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	v, err := a.explainer.Explain(r.Context(), l, r.URL.Query().Get("key"))
	if err != nil {
		return httpio.WithPart("query", err)
	}
	return data(w, v)
}

// examine says how the process and its data are.
func (a *API) examine(w http.ResponseWriter, r *http.Request) error {
	if a.doctor == nil {
		return session.NotFound("path", r.URL.Path)
	}
	v, err := a.doctor.Examine(r.Context())
	if err != nil {
		return err
	}
	return data(w, v)
}
