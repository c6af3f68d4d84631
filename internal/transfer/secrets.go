package transfer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// SecretSources are where cairn and its user keep secrets.
type SecretSources struct {
	Data   string // the data directory
	Env    func(string) string
	Config *config.Config // nil without one
}

// Collect returns the secrets: stored keys and logins, secret values of the configuration, the server's secret, and
// secret variables of the environment. unreadable are the stored keys that cannot be read.
func (s SecretSources) Collect(ctx context.Context) (secrets []string, unreadable []error, err error) {
	// Stored keys, and logins at MCP servers.
	for _, store := range []*auth.Store{auth.New(s.Data, s.Env), auth.NewMCP(s.Data, s.Env)} {
		kept, missing, err := store.ListSecrets(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range missing {
			unreadable = append(unreadable, m.Err)
		}
		for _, k := range kept {
			secrets = append(secrets, k.Reveal())
		}
	}
	if s.Config != nil {
		secrets = append(secrets, s.Config.RevealSecrets(IsSecretName)...)
	}
	// The server's own secret, then secret variables of the environment.
	switch secret, err := os.ReadFile(filepath.Join(s.Data, "server.secret")); {
	case err == nil:
		secrets = append(secrets, strings.TrimSpace(string(secret)))
	case !errors.Is(err, fs.ErrNotExist): // else none was made yet
		unreadable = append(unreadable, err)
	}
	variables, err := s.listVariables()
	return append(secrets, variables...), unreadable, err
}

// listVariables returns the values of the environment's variables with secret names, and of the providers' keys.
func (s SecretSources) listVariables() (values []string, err error) {
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range c.Providers() {
		names = append(names, p.Env[:min(1, len(p.Env))]...) // the others tell where and who, or have secret names
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if IsSecretName(name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if v := strings.TrimSpace(s.Env(name)); v != "" && !filepath.IsAbs(v) {
			values = append(values, v)
		}
	}
	return values, nil
}

// IsSecretName reports whether a name is one of a secret.
func IsSecretName(name string) bool { return redact.IsCredentialName(redact.FoldName(name)) }
