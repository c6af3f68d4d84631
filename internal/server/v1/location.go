package v1

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/opencode"
)

func (l *Location) listAgents() []opencode.Agent {
	out := []opencode.Agent{}
	for _, a := range l.Agents.List() { // the default one first
		out = append(out, opencode.AgentOf(a, agent.IsBuiltin(a.ID), l.Agents.AgentLayers(a.ID)))
	}
	return out
}

func (l *Location) listCommands() []opencode.Command { return opencode.CommandsOf(l.Commands().List()) }

func (l *Location) listSkills() []opencode.Skill {
	out := []opencode.Skill{}
	for _, s := range l.Skills.Find().Skills {
		out = append(out, opencode.Skill{
			Name: s.Name, Description: s.Description, Location: s.Location, Content: s.Content,
		})
	}
	return out
}

func (l *Location) listTools() []opencode.Tool {
	out := []opencode.Tool{}
	for _, d := range l.Tools.TakeSnapshot(nil).Definitions() {
		out = append(out, opencode.Tool{ID: d.Name, Description: d.Description, Parameters: d.Schema})
	}
	return out
}

// ListProviders returns the providers of the catalog, and the offline guide.
func (l *Location) ListProviders() Providers {
	m := l.Models
	out := Providers{All: []opencode.Provider{}, Connected: []string{}, Default: map[string]string{}}
	for _, p := range m.Catalog.Providers() {
		source := "custom"
		own, configured := m.Config.Provider[p.ID]
		if configured {
			source = "config"
		}
		v := opencode.ProviderOf(p, source, m.SupportedModels(p.ID))
		if len(v.Models) == 0 || !m.IsProviderEnabled(p.ID) {
			continue
		}
		if url := own.BaseURL(); url != "" && !strings.Contains(url, "@") { // it may contain a password
			v.Options["baseURL"], _ = jsontext.AppendQuote(nil, url) // read from JSON, so it is valid UTF-8
		}
		out.All = append(out.All, v)
		out.Default[p.ID] = m.DefaultModelOf(p.ID)
		if p.Available && models.IsSupported(p.API) {
			out.Connected = append(out.Connected, p.ID)
		}
	}
	native := m.OfflineModels()
	offline := opencode.ProviderOf(models.OfflineProvider(), "custom", native)
	out.All, out.Connected = append(out.All, offline), append(out.Connected, offline.ID)
	out.Default[offline.ID] = native[0].ID
	return out
}

// settings returns the configuration without secrets.
func (l *Location) settings() map[string]jsontext.Value {
	v := opencode.ConfigOf(l.Config.ListMembers(), l.Config.Rules(), true)
	if v["username"] == nil {
		v["username"], _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(cmp.Or(l.User, "unknown"), ""))
	}
	return v
}
