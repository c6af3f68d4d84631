package host

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/agent"
	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
)

// v1Backend serves locations to the V1 contract. It implements v1.Places.
type v1Backend struct{ *locationCache }

var _ v1.Places = v1Backend{}

// Home implements v1.Places.
func (l v1Backend) Home() v1.Home {
	return v1.Home{Home: l.dirs.Home, Config: l.dirs.Config, State: l.dirs.State}
}

// Place implements v1.Places.
func (l v1Backend) Place(ctx context.Context, at session.Location) (v1.Place, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return v1.Place{}, err
	}
	pr := p.project
	return v1.Place{Directory: pr.Directory, Worktree: cmp.Or(pr.Worktree, "/"), ProjectID: pr.ID, Git: pr.IsGit()}, nil
}

// Agents implements v1.Offers.
func (l v1Backend) Agents(ctx context.Context, at session.Location) ([]opencode.Agent, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	out := []opencode.Agent{}
	for _, a := range p.agents.List() {
		out = append(out, opencode.AgentOf(a, agent.IsBuiltin(a.ID), p.agents.AgentLayers(a.ID)))
	}
	return out, nil
}

// Commands implements v1.Offers.
func (l v1Backend) Commands(ctx context.Context, at session.Location) ([]opencode.Command, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return opencode.CommandsOf(l.commandSet(p).List()), nil
}

// Skills implements v1.Offers.
func (l v1Backend) Skills(ctx context.Context, at session.Location) ([]opencode.Skill, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return l.listSkills(p), nil
}

func (l v1Backend) listSkills(p *locationSetup) []opencode.Skill {
	out := []opencode.Skill{}
	for _, s := range p.skills.Find().Skills {
		out = append(out, opencode.Skill{
			Name: s.Name, Description: s.Description, Location: s.Location, Content: s.Content,
		})
	}
	return out
}

// Tools implements v1.Offers.
func (l v1Backend) Tools(ctx context.Context, at session.Location) ([]opencode.Tool, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	out := []opencode.Tool{}
	for _, d := range p.scope.Tools.TakeSnapshot(nil).Definitions() {
		out = append(out, opencode.Tool{ID: d.Name, Description: d.Description, Parameters: d.Schema})
	}
	return out, nil
}

// Providers implements v1.Offers: all of the catalog, and the guide that needs none.
func (l v1Backend) Providers(ctx context.Context, at session.Location) (v1.Providers, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return v1.Providers{}, err
	}
	m := p.models
	out := v1.Providers{All: []opencode.Provider{}, Connected: []string{}, Default: map[string]string{}}
	for _, known := range m.Catalog.Providers() {
		source := "custom"
		own, configured := m.Config.Provider[known.ID]
		if configured {
			source = "config"
		}
		v := opencode.ProviderOf(known, source, m.SupportedModels(known.ID))
		if len(v.Models) == 0 || !m.IsProviderEnabled(known.ID) {
			continue
		}
		if at := own.BaseURL(); at != "" && !strings.Contains(at, "@") { // before the @ there may be a password
			v.Options["baseURL"], _ = jsontext.AppendQuote(nil, at) // read from JSON, so it is text
		}
		out.All = append(out.All, v)
		out.Default[known.ID] = m.DefaultModelOf(known.ID)
		if known.Available && models.IsSupported(known.API) {
			out.Connected = append(out.Connected, known.ID)
		}
	}
	var own []catalog.Model
	if err := convert(offlineModels(m), &own); err != nil {
		return out, err
	}
	offline := opencode.ProviderOf(catalog.Provider{ID: script.ProviderID, Name: "cairn, offline"}, "custom", own)
	out.All, out.Connected = append(out.All, offline), append(out.Connected, offline.ID)
	out.Default[offline.ID] = guide.ModelID
	return out, nil
}

// Config implements v1.Settings.
func (l v1Backend) Config(ctx context.Context, at session.Location) (map[string]jsontext.Value, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	v := opencode.ConfigOf(p.config.View(), p.config.Rules(), true)
	if v["username"] == nil {
		v["username"], _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(cmp.Or(l.getenv("USER"), "unknown"), ""))
	}
	return v, nil
}

// UserConfig implements v1.Settings.
func (l v1Backend) UserConfig(ctx context.Context) (map[string]jsontext.Value, error) {
	c, err := l.loadUserConfig(ctx)
	if err != nil {
		return nil, err
	}
	return opencode.ConfigOf(c.View(), c.Rules(), false), nil
}

func (l v1Backend) loadUserConfig(ctx context.Context) (*config.Config, error) {
	return config.Load(ctx, config.Options{Dirs: l.dirs, Env: l.getenv})
}

// Configure implements v1.Settings.
func (l v1Backend) Configure(ctx context.Context, members map[string]jsontext.Value) error {
	c, err := l.loadUserConfig(ctx)
	if err != nil {
		return err
	}
	return c.MergeUser(ctx, members)
}

// SetKey implements v1.Settings.
func (l v1Backend) SetKey(ctx context.Context, providerID, key string) error {
	return credentialError(l.models.Auth.Set(ctx, providerID, auth.NewSecret(key)))
}

// credentialError returns the session error for a credential that could not be stored.
func credentialError(err error) error {
	if _, ok := errors.AsType[*session.Error](err); err == nil || ok {
		return err
	}
	code := session.CodeUnavailable
	if _, unfit := errors.AsType[*auth.Unfit](err); unfit {
		code = session.CodeInvalid
	}
	return session.Errorf(code, "the key cannot be stored: %v", err)
}

// RemoveKey implements v1.Settings.
func (l v1Backend) RemoveKey(ctx context.Context, providerID string) error {
	_, err := l.models.Auth.Remove(ctx, providerID)
	return err
}

// Branch implements v1.Checkouts.
func (l v1Backend) Branch(ctx context.Context, at session.Location) (branch, standard string, err error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return "", "", err
	}
	branch, standard = l.projects.Branches(ctx, p.project)
	return branch, standard, nil
}

// Changes implements v1.Checkouts.
func (l v1Backend) Changes(ctx context.Context, at session.Location, with v1.Compare) ([]opencode.ChangedFile, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	changes, err := l.projects.ListChanges(ctx, p.project, project.Compare(with))
	var out []opencode.ChangedFile
	for _, c := range changes {
		out = append(out, opencode.ChangedFile{
			File: c.File, Patch: c.Patch, Additions: c.Additions, Deletions: c.Deletions, Status: c.Status,
		})
	}
	return out, err
}

// Diff implements v1.Checkouts.
func (l v1Backend) Diff(ctx context.Context, at session.Location) (string, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return "", err
	}
	return l.projects.Diff(ctx, p.project)
}

// Patch implements v1.Checkouts.
func (l v1Backend) Patch(ctx context.Context, at session.Location, patch string) error {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return err
	}
	return l.projects.Patch(ctx, p.project, patch)
}
