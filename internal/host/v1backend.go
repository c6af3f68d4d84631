package host

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
)

// v1Backend gives the V1 contract access to locations, to the user's configuration and to credentials.
type v1Backend struct{ *locationCache }

var (
	_ v1.Backend     = v1Backend{}
	_ v1.Credentials = v1Backend{}
)

// UserDirectories implements v1.Backend.
func (b v1Backend) UserDirectories() v1.UserDirectories {
	return v1.UserDirectories{Home: b.dirs.Home, Config: b.dirs.Config, State: b.dirs.State}
}

// Location implements v1.Backend.
func (b v1Backend) Location(ctx context.Context, at session.Location) (*v1.Location, error) {
	p, err := b.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	pr := p.project
	return &v1.Location{
		Directory: pr.Directory, Worktree: cmp.Or(pr.Worktree, "/"), ProjectID: pr.ID, Git: pr.IsGit(),
		Catalog:  v1Catalog{b.locationCache, p, at.Directory},
		Files:    v1Files{p},
		Checkout: v1Checkout{b.projects, pr},
	}, nil
}

// UserConfig implements v1.Backend.
func (b v1Backend) UserConfig(ctx context.Context) (map[string]jsontext.Value, error) {
	c, err := b.loadUserConfig(ctx)
	if err != nil {
		return nil, err
	}
	return opencode.ConfigOf(c.View(), c.Rules(), false), nil
}

// Configure implements v1.Backend.
func (b v1Backend) Configure(ctx context.Context, members map[string]jsontext.Value) error {
	c, err := b.loadUserConfig(ctx)
	if err != nil {
		return err
	}
	return c.MergeUser(ctx, members)
}

func (b v1Backend) loadUserConfig(ctx context.Context) (*config.Config, error) {
	return config.Load(ctx, config.Options{Dirs: b.dirs, Env: b.getenv})
}

// SetKey implements v1.Credentials.
func (b v1Backend) SetKey(ctx context.Context, providerID, key string) error {
	return credentialError(b.models.Auth.Set(ctx, providerID, auth.NewSecret(key)))
}

// RemoveKey implements v1.Credentials.
func (b v1Backend) RemoveKey(ctx context.Context, providerID string) error {
	_, err := b.models.Auth.Remove(ctx, providerID)
	return err
}

// credentialError is the error of a credential that was not stored, for clients.
func credentialError(err error) error {
	if _, ok := errors.AsType[*session.Error](err); err == nil || ok {
		return err
	}
	code := session.CodeUnavailable
	if _, invalid := errors.AsType[*auth.InvalidError](err); invalid {
		code = session.CodeInvalid
	}
	return session.Errorf(code, "the key cannot be stored: %v", err)
}

// v1Catalog implements v1.Catalog.
type v1Catalog struct {
	*locationCache

	setup     *locationSetup
	directory string
}

// Agents implements v1.Catalog.
func (c v1Catalog) Agents() []opencode.Agent {
	out := []opencode.Agent{}
	for _, a := range c.setup.agents.List() {
		out = append(out, opencode.AgentOf(a, agent.IsBuiltin(a.ID), c.setup.agents.AgentLayers(a.ID)))
	}
	return out
}

// Commands implements v1.Catalog.
func (c v1Catalog) Commands() []opencode.Command {
	return opencode.CommandsOf(c.commandSet(c.setup).List())
}

// ExpandCommand implements v1.Catalog.
func (c v1Catalog) ExpandCommand(
	ctx context.Context, r api.ExpandRequest, permit command.Permit,
) (api.Expansion, error) {
	return c.Expand(ctx, session.Location{Directory: c.directory}, r, permit)
}

// Skills implements v1.Catalog.
func (c v1Catalog) Skills() []opencode.Skill {
	out := []opencode.Skill{}
	for _, s := range c.setup.skills.Find().Skills {
		out = append(
			out,
			opencode.Skill{Name: s.Name, Description: s.Description, Location: s.Location, Content: s.Content},
		)
	}
	return out
}

// Tools implements v1.Catalog.
func (c v1Catalog) Tools() []opencode.Tool {
	out := []opencode.Tool{}
	for _, d := range c.setup.scope.Tools.TakeSnapshot(nil).Definitions() {
		out = append(out, opencode.Tool{ID: d.Name, Description: d.Description, Parameters: d.Schema})
	}
	return out
}

// Providers implements v1.Catalog: the providers of the catalog, and the offline guide.
func (c v1Catalog) Providers() (v1.Providers, error) {
	m := c.setup.models
	out := v1.Providers{All: []opencode.Provider{}, Connected: []string{}, Default: map[string]string{}}
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
	var own []catalog.Model
	if err := convert(offlineModels(m), &own); err != nil {
		return out, err
	}
	offline := opencode.ProviderOf(catalog.Provider{ID: guide.ProviderID, Name: "cairn, offline"}, "custom", own)
	out.All, out.Connected = append(out.All, offline), append(out.Connected, offline.ID)
	out.Default[offline.ID] = guide.ModelID
	return out, nil
}

// Config implements v1.Catalog.
func (c v1Catalog) Config() map[string]jsontext.Value {
	v := opencode.ConfigOf(c.setup.config.View(), c.setup.config.Rules(), true)
	v["share"] = jsontext.Value(`"disabled"`) // whatever is configured: cairn does not share sessions
	if v["username"] == nil {
		v["username"], _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(cmp.Or(c.getenv("USER"), "unknown"), ""))
	}
	return v
}

// v1Checkout implements v1.Checkout.
type v1Checkout struct {
	projects *project.Finder
	project  project.Project
}

// Branches implements v1.Checkout.
func (c v1Checkout) Branches(ctx context.Context) (current, standard string) {
	return c.projects.Branches(ctx, c.project)
}

// Changes implements v1.Checkout.
func (c v1Checkout) Changes(ctx context.Context, with v1.Comparison) ([]opencode.ChangedFile, error) {
	changes, err := c.projects.ListChanges(ctx, c.project, project.Compare(with))
	var out []opencode.ChangedFile
	for _, f := range changes {
		out = append(out, opencode.ChangedFile{
			File: f.File, Patch: f.Patch, Additions: f.Additions, Deletions: f.Deletions, Status: f.Status,
		})
	}
	return out, err
}

// Diff implements v1.Checkout.
func (c v1Checkout) Diff(ctx context.Context) (string, error) { return c.projects.Diff(ctx, c.project) }

// InitRepository implements v1.Checkout.
func (c v1Checkout) InitRepository(ctx context.Context) error {
	return c.projects.InitRepository(ctx, c.project)
}

// ApplyPatch implements v1.Checkout.
func (c v1Checkout) ApplyPatch(ctx context.Context, p string) error {
	return c.projects.Patch(ctx, c.project, p)
}
