package v2

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// locationHandlers describes the server and its locations.
type locationHandlers struct{ *dependencies }

// getHealth reports that the server works, with more fields for all=1. A server that can only read is not healthy,
// which is an error, but a field with all=1.
func (h locationHandlers) getHealth(_ context.Context, in struct {
	All allFields `query:"all"`
},
) (api.Health, error) {
	err := h.Condition()
	if !in.All {
		return api.Health{Healthy: true}, err
	}
	out := h.Health
	if err != nil {
		out.Healthy, out.Problem = false, httpio.PublicError(err).Message
	}
	return out, nil
}

func (h locationHandlers) get(ctx context.Context, in listIn) (api.LocationInfo, error) {
	out, err := h.Locations.Location(ctx, in.Location.Location)
	if !in.All {
		out = withoutDetails(out)
	}
	return out, err
}

func (h locationHandlers) listAgents(ctx context.Context, in locationIn) (api.AtLocation[[]session.Agent], error) {
	out, err := listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Agents)
	for i := range out.Data {
		if out.Data[i].Permissions == nil {
			out.Data[i].Permissions = []session.Rule{}
		}
	}
	return out, err
}

func (h locationHandlers) listSkills(ctx context.Context, in listIn) (api.AtLocation[[]api.Skill], error) {
	out, err := listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Skills)
	if !in.All {
		out.Data = slices.DeleteFunc(out.Data, func(s api.Skill) bool { return s.Problem != "" })
	}
	return out, err
}

func (h locationHandlers) listPlugins(ctx context.Context, in locationIn) (api.AtLocation[[]api.Plugin], error) {
	return listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Plugins)
}

func (h locationHandlers) listCommands(ctx context.Context, in listIn) (api.AtLocation[[]api.Command], error) {
	out, err := listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Commands)
	for i := range out.Data {
		if !in.All {
			out.Data[i].Source, out.Data[i].Hints = "", nil
		}
	}
	return out, err
}

func (h locationHandlers) expandCommand(ctx context.Context, in struct {
	Location operation.Location
	Body     api.ExpandRequest `body:"required"`
},
) (api.Data[api.Expansion], error) {
	q := ask.TemplateRequest{
		SessionID: in.Body.SessionID, Location: in.Location.Location, Agent: in.Body.Agent, Policy: in.Body.Asks,
	}
	permit := func(ctx context.Context, n templates.Needs) (bool, error) {
		ctx, end := h.long.Start(ctx, "")
		defer end()
		q.Agent, q.Lines, q.Files = n.Agent, n.Lines, n.Files
		return h.Asks.AuthorizeTemplate(ctx, q)
	}
	out, err := h.Locations.Expand(ctx, in.Location.Location, in.Body, permit)
	return newData(out), httpio.WithPart("body", err)
}

func (h locationHandlers) listModels(ctx context.Context, in locationIn) (api.AtLocation[[]api.Model], error) {
	out, err := listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Models)
	for i := range out.Data {
		out.Data[i].API = withSettings(out.Data[i].API)
	}
	return out, err
}

func (h locationHandlers) listProviders(ctx context.Context, in locationIn) (api.AtLocation[[]api.Provider], error) {
	out, err := listAt(ctx, h.dependencies, in.Location.Location, h.Locations.Providers)
	for i := range out.Data {
		out.Data[i].API = withSettings(out.Data[i].API)
	}
	return out, err
}

// withSettings adds the settings that OpenCode's document requires of a native API.
func withSettings(m api.ModelAPI) api.ModelAPI {
	if m.Type == "native" && m.Settings == nil {
		m.Settings = jsontext.Value("{}")
	}
	return m
}

// maxSuggestions bounds the names that an error suggests.
const maxSuggestions = 8

func (h locationHandlers) getProvider(ctx context.Context, in struct {
	locationIn
	ProviderID string `path:"providerID"`
},
) (out api.AtLocation[api.Provider], err error) {
	all, err := h.listProviders(ctx, in.locationIn)
	if err != nil {
		return out, err
	}
	i := slices.IndexFunc(all.Data, func(p api.Provider) bool { return p.ID == in.ProviderID })
	if i < 0 {
		var names []string
		for _, p := range all.Data[:min(maxSuggestions, len(all.Data))] {
			names = append(names, p.ID)
		}
		return out, session.NotFound("provider", in.ProviderID, names...)
	}
	return api.AtLocation[api.Provider]{Location: all.Location, Data: all.Data[i]}, nil
}

// listFiles lists a directory of the location.
func (h locationHandlers) listFiles(ctx context.Context, in struct {
	locationIn
	Path string `query:"path"`
},
) (api.AtLocation[[]api.FileEntry], error) {
	return listAt(
		ctx,
		h.dependencies,
		in.Location.Location,
		func(ctx context.Context, l session.Location) ([]api.FileEntry, error) {
			if h.Files == nil {
				return []api.FileEntry{}, nil
			}
			list, err := h.Files.ListFiles(ctx, l, in.Path)
			return list, httpio.WithPart("query", err)
		},
	)
}

func (h locationHandlers) findFiles(ctx context.Context, in struct {
	locationIn
	Query *string `query:"query"`
	Type  string  `query:"type" enum:"file,directory"`
	Limit int64   `query:"limit" default:"100" min:"1" max:"1000"`
},
) (out api.AtLocation[[]api.FileEntry], err error) {
	if in.Query == nil {
		return out, httpio.NewInvalid("query", "query", "query is missing: it must say what to search for")
	}
	return listAt(
		ctx,
		h.dependencies,
		in.Location.Location,
		func(ctx context.Context, l session.Location) ([]api.FileEntry, error) {
			if h.Files == nil {
				return []api.FileEntry{}, nil
			}
			list, err := h.Files.FindFiles(ctx, l, api.FileQuery{Query: *in.Query, Type: in.Type, Limit: int(in.Limit)})
			return list, httpio.WithPart("query", err)
		},
	)
}

// explainConfig says where the settings of the location come from.
func (h locationHandlers) explainConfig(ctx context.Context, in struct {
	Key string `query:"key"`
	locationIn
},
) (out api.Data[jsontext.Value], err error) {
	if h.Explainer == nil {
		return out, session.NotFound("path", "/api/config/explain")
	}
	v, err := h.Explainer.Explain(ctx, in.Location.Location, in.Key)
	return newData(v), httpio.WithPart("query", err)
}

// runDoctor reports the state of the process and of its data.
func (h locationHandlers) runDoctor(ctx context.Context, _ struct{}) (out api.Data[jsontext.Value], err error) {
	if h.Doctor == nil {
		return out, session.NotFound("path", "/api/doctor")
	}
	v, err := h.Doctor.Examine(ctx)
	return newData(v), err
}

// writeDocument answers with the document of the contract.
func (d *dependencies) writeDocument(context.Context, struct{}) (operation.Func[map[string]jsontext.Value], error) {
	doc, err := d.document()
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, doc)
	}, err
}
