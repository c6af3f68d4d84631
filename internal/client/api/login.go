package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// ProviderLogin says how a provider can be given a credential.
type ProviderLogin struct {
	ID        string
	Name      string
	Connected bool // it can be used now
	Browser   bool // it has a login with a browser
	Key       bool // it takes an API key
}

// LoginClient makes the calls about logins at providers.
type LoginClient struct{ Client *Client }

// ListProviders returns the providers that can be logged in to from the location of the client.
func (l LoginClient) ListProviders(ctx context.Context) ([]ProviderLogin, error) {
	var providers struct {
		All []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"all"`
		Connected []string `json:"connected"`
	}
	if err := l.Client.CallV1(ctx, http.MethodGet, "/provider", nil, &providers); err != nil {
		return nil, err
	}
	var methods map[string][]struct {
		Type string `json:"type"`
	}
	if err := l.Client.CallV1(ctx, http.MethodGet, "/provider/auth", nil, &methods); err != nil {
		return nil, err
	}
	var out []ProviderLogin
	for _, p := range providers.All {
		login := ProviderLogin{ID: p.ID, Name: p.Name, Connected: slices.Contains(providers.Connected, p.ID)}
		for _, m := range methods[p.ID] {
			login.Browser, login.Key = login.Browser || m.Type == "oauth", login.Key || m.Type == "api"
		}
		if login.Browser || login.Key {
			out = append(out, login)
		}
	}
	return out, nil
}

// StoreKey stores the API key of a provider, where the server keeps keys.
func (l LoginClient) StoreKey(ctx context.Context, provider, key string) error {
	in := map[string]string{"type": "api", "key": key}
	return l.Client.CallV1(ctx, http.MethodPut, "/auth/"+url.PathEscape(provider), in, nil)
}

// LoginPage is the page where a user logs in with a browser.
type LoginPage struct {
	URL          string `json:"url"`
	Instructions string `json:"instructions"`
}

// browserLogin is the body of requests about a login with a browser, which is the first method where it exists.
var browserLogin = map[string]int{"method": 0}

// BeginBrowser begins a login with a browser at a provider. It ends an earlier one there.
func (l LoginClient) BeginBrowser(ctx context.Context, provider string) (page LoginPage, err error) {
	err = l.Client.CallV1(ctx, http.MethodPost, loginPath(provider, "authorize"), browserLogin, &page)
	return page, err
}

// AwaitBrowser waits until the login that BeginBrowser began is done, or ctx is.
func (l LoginClient) AwaitBrowser(ctx context.Context, provider string) error {
	return l.Client.CallV1(ctx, http.MethodPost, loginPath(provider, "callback"), browserLogin, nil)
}

func loginPath(provider, step string) string {
	return "/provider/" + url.PathEscape(provider) + "/oauth/" + step
}
