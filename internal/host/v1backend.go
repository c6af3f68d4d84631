package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/opencode"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
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
		Directory: pr.Directory, Worktree: cmp.Or(pr.Worktree, "/"), ProjectID: pr.ID, RecordID: pr.RecordID, Git: pr.IsGit(),
		Earlier: p.earlier,
		Project: pr, Projects: b.projects, Config: p.config, Agents: p.agents, Skills: p.skills, Models: p.models,
		Tools: p.scope.Tools, User: b.getenv("USER"), Files: v1Files{p},
		MCP: p.servers, Logins: b.logins, Formatters: p.tools.formatters, Languages: p.languages,
		Commands: func() *command.Set { return b.commandSet(p) },
		Expand: func(ctx context.Context, r api.ExpandRequest, permit command.Permit) (api.Expansion, error) {
			return b.Expand(ctx, at, r, permit)
		},
		Terminal: func() (pty.Order, error) { return b.newTerminal(p, at.Directory) },
		Overlay:  p.terminalOverlay,
	}, nil
}

// UserConfig implements v1.Backend.
func (b v1Backend) UserConfig(ctx context.Context) (map[string]jsontext.Value, error) {
	c, err := b.loadUserConfig(ctx)
	if err != nil {
		return nil, err
	}
	return opencode.ConfigOf(c.ListMembers(), c.Rules(), false), nil
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
