package host

import (
	"cmp"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// lookup finds what an endpoint needs to know: in the provider's options, else in the environment.
func (m *locationModels) lookup(id string) provider.Lookup {
	return provider.Lookup{Env: m.table.getenv, Option: m.settings(id).text}
}

func (m *locationModels) settings(id string) settings {
	return settingsOf(m.config.Provider[id].Options.Extra)
}

// sent are the options of a provider that go with every request to its models (spec/v2 §19.6): all but those that say how
// to reach it.
func sent(options jsontext.Value) map[string]jsontext.Value {
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

// vendor returns the provider's row for one of its models: the known one, that of the package's vendor, or one for a server
// that speaks the protocol of the model's package, with the address that the configuration, the model or the row says.
func (m *locationModels) vendor(p catalog.Provider, api catalog.API) (provider.Vendor, error) {
	row, known := provider.Find(p.ID)
	if !known {
		row = provider.Own(p.ID, p.Name, api.Package)
		row.BaseURL = cmp.Or(p.API.URL, row.BaseURL)
	}
	row.Wire, _ = row.WireFor(api.Package, api.ID)
	row = m.keyed(row.Guest(api.Package), p.Env)
	s := m.settings(p.ID)
	row = s.apply(row)
	l := provider.Lookup{Env: m.table.getenv, Option: s.text}
	own := m.config.Provider[p.ID].BaseURL()
	if row.Scheme == provider.ByAWS {
		own = cmp.Or(own, s.text("endpoint"))
	}
	switch {
	case own != "":
		row = row.At(own)
	case api.URL != "" && api.URL != p.API.URL:
		row.BaseURL = api.URL // a model that stands elsewhere than its siblings
	case row.Scheme == provider.ByAWS && l.Option("region") == "":
		l.Env = regional(l.Env, m.aws(row))
	}
	row, err := row.Placed(l)
	row.BaseURL = s.asked(row.BaseURL)
	return row, err
}

// keyed is the row as a key alone reaches it, if Google's is known.
func (m *locationModels) keyed(row provider.Vendor, env []string) provider.Vendor {
	if row.Scheme != provider.ByGoogle {
		return row
	}
	if key, err := m.key(row.ID, env); err == nil && key != "" {
		return row.Keyed()
	}
	return row
}

// regional adds the region of an AWS profile to an environment that names none.
func regional(getenv func(string) string, a *provider.AWS) func(string) string {
	return func(name string) string {
		v := getenv(name)
		if v == "" && name == "AWS_DEFAULT_REGION" {
			return a.ProfileRegion()
		}
		return v
	}
}

func (m *locationModels) aws(row provider.Vendor) *provider.AWS {
	l := m.lookup(row.ID)
	return &provider.AWS{Getenv: m.settings(row.ID).keys(m.table.getenv), Region: row.Setting("region", l), Profile: l.Option("profile"), Now: time.Now}
}

// credential returns what convinces the vendor: a key, or a credential that fetches or signs. Both are empty where the
// vendor wants none, or none is known.
func (m *locationModels) credential(row provider.Vendor, env []string) (string, provider.Credential, error) {
	if token := m.settings(row.ID).text("authToken"); token != "" && row.Wire == provider.Messages && row.Scheme == provider.ByKey {
		return token, nil, nil
	}
	key, err := m.key(row.ID, env)
	if err != nil {
		return "", nil, err
	}
	switch row.Scheme {
	case provider.ByAWS:
		if key == "" {
			a := m.aws(row)
			l := m.lookup(row.ID)
			l.Env = regional(l.Env, a)
			a.Region = row.Setting("region", l)
			return "", a, nil
		}
	case provider.ByGoogle:
		if key == "" {
			return "", m.table.tokens.google(m.table.getenv, m.table.auth), nil
		}
	case provider.ByCopilot:
		github, kept, err := m.github(row.ID, key)
		if err != nil {
			return "", nil, err
		}
		if github != "" {
			return "", m.table.tokens.copilot(github, m.settings(row.ID).enterprise("https://api."), kept), nil
		}
	case provider.ByKey:
	}
	return key, nil, nil
}

// github returns the token of a login at GitHub, or the key that was given for it, and what keeps what it is exchanged for.
func (m *locationModels) github(id, key string) (string, provider.Shared, error) {
	c, ok, err := m.table.auth.Get(id)
	if err != nil && key == "" { // else that of the environment stands in for it
		return "", nil, unreadable(err)
	}
	if ok && c.Kind == auth.KindOAuth {
		return c.Refresh.Reveal(), shared(m.table.auth, id), nil
	}
	return key, fetched(m.table.auth, id), nil
}

// ready reports whether a provider can be asked with what is known: an address and something that convinces it. A key that
// is out of reach is one: whoever uses it is told why, and gets no answer of another model's.
func (m *locationModels) ready(id string, env []string) bool {
	row, known := provider.Find(id)
	if !known {
		key, err := m.key(id, env)
		return err == nil && key != "" || outOfReach(err)
	}
	if m.config.Provider[id].BaseURL() == "" {
		if _, err := m.keyed(row, env).Placed(m.lookup(id)); err != nil {
			return false
		}
	}
	key, credential, err := m.credential(row, env)
	if outOfReach(err) {
		return true
	}
	switch c := credential.(type) {
	case *provider.AWS:
		return c.Known()
	case *provider.Google:
		return c.Known()
	case nil:
		return err == nil && key != ""
	default:
		return err == nil
	}
}
