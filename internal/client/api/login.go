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
	Methods   []LoginMethod
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
	methods, err := l.ListMethods(ctx)
	if err != nil {
		return nil, err
	}
	var out []ProviderLogin
	for _, p := range providers.All {
		if offered := methods[p.ID]; len(offered) > 0 {
			isConnected := slices.Contains(providers.Connected, p.ID)
			out = append(out, ProviderLogin{ID: p.ID, Name: p.Name, Connected: isConnected, Methods: offered})
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
	Method       string `json:"method"` // "code" if the user gets a code that the login waits for, else "auto"
	Instructions string `json:"instructions"`
}

// LoginMethod is a way to give a provider a credential. Requests name it by its index.
type LoginMethod struct {
	Type  string `json:"type"` // oauth or api
	Label string `json:"label"`
}

// ListMethods returns the methods of the providers, by id.
func (l LoginClient) ListMethods(ctx context.Context) (out map[string][]LoginMethod, err error) {
	err = l.Client.CallV1(ctx, http.MethodGet, "/provider/auth", nil, &out)
	return out, err
}

// Begin begins a login with a method. It ends an earlier one at the provider.
func (l LoginClient) Begin(ctx context.Context, provider string, method int) (page LoginPage, err error) {
	in := map[string]int{"method": method}
	err = l.Client.CallV1(ctx, http.MethodPost, loginPath(provider, "authorize"), in, &page)
	return page, err
}

// Await waits until the login that Begin began is done. It passes on the code of the user, "" without one.
func (l LoginClient) Await(ctx context.Context, provider string, method int, code string) error {
	in := map[string]any{"method": method}
	if code != "" {
		in["code"] = code
	}
	return l.Client.CallV1(ctx, http.MethodPost, loginPath(provider, "callback"), in, nil)
}

func loginPath(provider, step string) string {
	return "/provider/" + url.PathEscape(provider) + "/oauth/" + step
}
