package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Auth is how a plugin logs in at a provider, and whether it changes requests to it.
type Auth struct {
	Provider  string       `json:"provider"`
	HasLoader bool         `json:"hasLoader"`
	Methods   []AuthMethod `json:"methods"`
}

// AuthMethod is one way to give a provider its credential. Clients name it by its index in the provider's list.
type AuthMethod struct {
	Type  string `json:"type" enum:"oauth,api"`
	Label string `json:"label"`
}

// Logins returns the ways to log in that plugins offer, by provider. Of two plugins for one provider the first counts.
func (s *State) Logins() map[string]Auth {
	out := map[string]Auth{}
	for _, o := range s.Plugins {
		for _, a := range o.Auths {
			if _, ok := out[a.Provider]; !ok {
				out[a.Provider] = a
			}
		}
	}
	return out
}

// isOfOnePlugin reports whether the logins of both providers are those of one plugin.
func (s *State) isOfOnePlugin(a, b string) bool {
	owner := map[string]string{}
	for _, o := range s.Plugins {
		for _, login := range o.Auths {
			owner[login.Provider] = cmp.Or(owner[login.Provider], o.ID)
		}
	}
	return owner[a] != "" && owner[a] == owner[b]
}

// Authorization says where a person logs in. Method is "auto" if the login ends by itself, and "code" if the person gets
// a code to type.
type Authorization struct {
	URL          string `json:"url"`
	Method       string `json:"method" enum:"auto,code"`
	Instructions string `json:"instructions"`
}

// Credential is what a login gives: a key, or tokens.
type Credential struct {
	Type     string `json:"type"` // success or failed
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Refresh  string `json:"refresh"`
	Access   string `json:"access"`
	Expires  int64  `json:"expires"` // of Access, milliseconds since the Unix epoch; 0 is never
}

// errLogin is the error of a login that the plugin reports as failed.
var errLogin = errors.New("the login failed")

// beginTime bounds the wait for the page of a login.
const beginTime = 30 * time.Second

// LogIn logs in at a provider with the method of the index. show is called with the page to open; code asks the person for
// the code of a login whose method is "code".
func (s *Set) LogIn(
	ctx context.Context, provider string, method int, dialog LoginDialog,
) (Credential, error) {
	params := object{"provider": provider, "method": method, "inputs": dialog.Inputs}
	var begun struct {
		Authorization
		Result *Credential `json:"result"`
	}
	begin, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	if err := s.call(begin, "auth/authorize", params, &begun, nil); err != nil {
		return Credential{}, err
	}
	result := begun.Result
	if result == nil {
		if u, err := url.Parse(begun.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return Credential{}, fmt.Errorf("the plugin named %.200q, which is no page to log in", begun.URL)
		}
		if begun.Method != "code" {
			begun.Method = "auto"
		}
		dialog.Show(begun.Authorization)
		end := object{"provider": provider}
		if begun.Method == "code" {
			code, err := dialog.Code(ctx)
			if err != nil {
				return Credential{}, err
			}
			end["code"] = code
		}
		result = &Credential{}
		if err := s.call(ctx, "auth/callback", end, result, nil); err != nil {
			return Credential{}, err
		}
	}
	if result.Type != "success" || result.Key == "" && result.Refresh == "" {
		return Credential{}, errLogin
	}
	// A plugin that logs in at several providers may give the credential of another one of them.
	if result.Provider == "" {
		result.Provider = provider
	}
	c, err := s.connect(ctx)
	if err != nil {
		return Credential{}, err
	}
	if result.Provider != provider && !c.state.isOfOnePlugin(provider, result.Provider) {
		return Credential{}, fmt.Errorf("the plugin logged in at %.80q, which is not its provider", result.Provider)
	}
	return *result, nil
}

// LoginDialog is what a login needs of a person.
type LoginDialog struct {
	Inputs map[string]string   // of the method's prompts
	Show   func(Authorization) // called once
	Code   func(ctx context.Context) (string, error)
}

// LoadAuth asks the plugin for the options of a provider that is logged in. Info is the provider in OpenCode's form. hasFetch
// reports that requests to it go through Transport.
func (s *Set) LoadAuth(ctx context.Context, provider string, info jsontext.Value) (
	options map[string]jsontext.Value, hasFetch bool, err error,
) {
	var out struct {
		Options  map[string]jsontext.Value `json:"options"`
		HasFetch bool                      `json:"hasFetch"`
	}
	err = s.call(ctx, "auth/load", object{"provider": provider, "info": info}, &out, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.logins, provider); err == nil {
		s.logins[provider] = info
	}
	return out.Options, out.HasFetch, err
}

// Models asks the plugins for the models of a provider, in OpenCode's second form; nil if none has any.
func (s *Set) Models(ctx context.Context, provider string, info, auth jsontext.Value) (map[string]jsontext.Value, error) {
	var out map[string]jsontext.Value
	params := object{"provider": provider, "info": info}
	if auth != nil {
		params["auth"] = auth
	}
	err := s.call(ctx, "models", params, &out, nil)
	return out, err
}

// ModelProviders returns the providers for which plugins have models.
func (s *State) ModelProviders() (out []string) {
	for _, o := range s.Plugins {
		out = append(out, o.Models...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// findCredential returns what is stored for a provider at which a plugin logs in, for that plugin.
func (a *apiProxy) findCredential(params jsontext.Value) (any, error) {
	var p struct {
		Provider string `json:"provider"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	a.set.mu.Lock()
	find, logins := a.set.location.Credential, a.child.state.Logins()
	a.set.mu.Unlock()
	if _, ok := logins[p.Provider]; !ok || find == nil {
		return nil, fmt.Errorf("no plugin logs in at %q, so none gets its credential", p.Provider)
	}
	return find(p.Provider)
}
