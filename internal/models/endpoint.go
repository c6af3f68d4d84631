package models

import (
	"cmp"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm/awslogin"
	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// Endpoint returns the vendor row for one of the provider's models, with its address: the row of the provider, else
// that of its package's vendor, else one for a server that speaks the protocol of the package. The address is the
// configured one, else the model's, else the row's.
func (m *Set) Endpoint(p catalog.Provider, api catalog.API) (provider.Vendor, error) {
	row, known := provider.Find(p.ID)
	if !known {
		row = provider.NewCustom(p.ID, p.Name, api.Package)
		row.BaseURL = cmp.Or(p.API.URL, row.BaseURL)
	}
	row.Wire, _ = row.SelectWire(api.Package, api.ID)
	row = m.withKey(row.ForPackage(api.Package), p.Env)
	s := m.settingsFor(p.ID)
	row = s.applyTo(row)
	l := provider.Lookup{Env: m.pool.getenv, Option: s.getText}
	configured := m.Config.Provider[p.ID].BaseURL()
	if row.Scheme == provider.AuthAWS {
		configured = cmp.Or(configured, s.getText("endpoint"))
	}
	switch {
	case configured != "":
		row = row.WithAddress(configured)
	case api.URL != "" && api.URL != p.API.URL:
		row.BaseURL = api.URL // the model has another address than the provider's other models
	case row.Scheme == provider.AuthAWS && l.Option("region") == "":
		l.Env = withProfileRegion(l.Env, m.awsCredential(row))
	}
	row, err := row.ResolveBaseURL(l)
	row.BaseURL = s.addQuery(row.BaseURL)
	return row, err
}

// newReachCheck returns a function that reports whether an API of a provider is supported and has an address. It caches
// results by provider, package and URL.
func (m *Set) newReachCheck() func(catalog.Provider, catalog.API) bool {
	type way struct{ provider, pkg, url string }
	checked := map[way]bool{}
	return func(p catalog.Provider, api catalog.API) bool {
		w := way{p.ID, api.Package, api.URL}
		can, done := checked[w]
		if !done {
			row, err := m.Endpoint(p, api)
			can = err == nil && row.Wire.IsSupported() && row.BaseURL != ""
			checked[w] = can
		}
		return can
	}
}

// withKey returns the row for access with an API key, if the provider is Google Cloud and one is known.
func (m *Set) withKey(row provider.Vendor, env []string) provider.Vendor {
	if row.Scheme != provider.AuthGoogle {
		return row
	}
	if key, err := m.findKey(row.ID, env); err == nil && key != "" {
		return row.WithKeyOnly()
	}
	return row
}

// withProfileRegion adds the region of an AWS profile to an environment that names none.
func withProfileRegion(getenv func(string) string, a *awslogin.AWS) func(string) string {
	return func(name string) string {
		v := getenv(name)
		if v == "" && name == "AWS_DEFAULT_REGION" {
			return a.ProfileRegion()
		}
		return v
	}
}

func (m *Set) awsCredential(row provider.Vendor) *awslogin.AWS {
	l := m.endpointLookup(row.ID)
	return &awslogin.AWS{
		Getenv: m.settingsFor(row.ID).awsEnvironment(m.pool.getenv),
		Region: row.SettingValue("region", l), Profile: l.Option("profile"), Now: time.Now,
		Chain: m.pool.tokens.awsChain(row.ID + "\n" + l.Option("profile")),
	}
}

// endpointLookup finds the parts of an address in the provider's options, else in the environment.
func (m *Set) endpointLookup(id string) provider.Lookup {
	return provider.Lookup{Env: m.pool.getenv, Option: m.settingsFor(id).getText}
}

func (m *Set) settingsFor(id string) settings {
	return parseSettings(m.Config.Provider[id].Options.Extra)
}

// requestOptions returns the options of a provider that are sent with every request to its models: all but those that
// say how to reach it.
func requestOptions(options jsontext.Value) map[string]jsontext.Value {
	var all map[string]jsontext.Value
	if len(options) == 0 || json.Unmarshal(options, &all) != nil {
		return nil
	}
	maps.DeleteFunc(all, func(name string, _ jsontext.Value) bool {
		d := option.Find(name).Domain
		return d == option.Setting || d == option.Connection
	})
	return all
}

// credentialFor returns the key of a vendor, or a credential that fetches tokens or signs requests. Both are empty if
// the vendor needs none or none is known.
func (m *Set) credentialFor(row provider.Vendor, env []string) (string, provider.Credential, error) {
	// A token that the configuration names replaces the key, for Anthropic's protocol only.
	token := m.settingsFor(row.ID).getText("authToken")
	if token != "" && row.Wire == provider.Messages && row.Scheme == provider.AuthKey {
		return token, nil, nil
	}
	// A stored or exported key goes before the vendor's own way, except for Copilot, where the key is the login.
	key, err := m.findKey(row.ID, env)
	if err != nil {
		return "", nil, err
	}
	// Otherwise the vendor's way: request signatures, or tokens that are fetched and renewed.
	switch row.Scheme {
	case provider.AuthAWS:
		if key == "" {
			a := m.awsCredential(row)
			l := m.endpointLookup(row.ID)
			l.Env = withProfileRegion(l.Env, a)
			a.Region = row.SettingValue("region", l)
			return "", a, nil
		}
	case provider.AuthGoogle:
		if key == "" {
			return "", m.pool.tokens.googleCredential(m.pool.getenv, m.pool.Auth), nil
		}
	case provider.AuthCopilot:
		github, share, err := m.gitHubToken(row.ID, key)
		if err != nil {
			return "", nil, err
		}
		if github != "" {
			api := m.settingsFor(row.ID).enterpriseURL("https://api.")
			return "", m.pool.tokens.copilotCredential(github, api, share), nil
		}
	case provider.AuthKey:
	}
	return key, nil, nil
}

// gitHubToken returns the token of a login at GitHub, else the key in its place, and how processes share the tokens
// that it is exchanged for.
func (m *Set) gitHubToken(id, key string) (string, provider.TokenCache, error) {
	c, ok, err := m.pool.Auth.Get(id)
	if err != nil && key == "" { // a key of the environment is used in place of one that is out of reach
		return "", nil, credentialsError(err)
	}
	if ok && c.Kind == auth.KindOAuth {
		return c.Refresh.Reveal(), shareWithLogin(m.pool.Auth, id), nil
	}
	return key, shareInFile(m.pool.Auth, id), nil
}

// IsReady reports whether requests to a provider are possible: an address and a credential are known. A key that the
// keyring does not give out counts as known, so that a request with it fails with the reason instead of going to
// another provider.
func (m *Set) IsReady(id string, env []string) bool {
	// A provider outside of the table has a key only.
	row, known := provider.Find(id)
	if !known {
		key, err := m.findKey(id, env)
		return err == nil && key != "" || IsKeyUnreachable(err)
	}
	// The address: configured, or of the table with its settings.
	if m.Config.Provider[id].BaseURL() == "" {
		if _, err := m.withKey(row, env).ResolveBaseURL(m.endpointLookup(id)); err != nil {
			return false
		}
	}
	// The credential. Those that are fetched are ready if their sources exist; no request is sent.
	key, credential, err := m.credentialFor(row, env)
	if IsKeyUnreachable(err) {
		return true
	}
	switch c := credential.(type) {
	case *awslogin.AWS:
		return c.HasCredentials()
	case *provider.Google:
		return c.HasCredentials()
	case nil:
		return err == nil && key != ""
	default:
		return err == nil
	}
}
