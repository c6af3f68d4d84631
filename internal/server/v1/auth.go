package v1

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// authHandlers stores the credentials of providers and runs logins there.
type authHandlers struct{ *dependencies }

// providerIn is a request about one provider.
type providerIn struct {
	ProviderID string `path:"providerID"`
}

// credentialBody is the body of auth.set: a key, or the tokens of a login.
type credentialBody struct {
	Type     string            `json:"type" enum:"oauth,api,wellknown"`
	Key      string            `json:"key"`
	Metadata map[string]string `json:"metadata"` // not stored

	Refresh       string `json:"refresh"`
	Access        string `json:"access"`
	Expires       *int64 `json:"expires"`   // of access, in milliseconds; 0: never
	AccountID     string `json:"accountId"` // not stored
	EnterpriseURL string `json:"enterpriseUrl"`
}

// Validate implements operation.Validator.
func (c *credentialBody) Validate() error {
	switch {
	case c.Type == "wellknown":
		return httpio.NewInvalid("body", "type", "use cairn auth login ADDRESS to log in at an organisation: "+
			"it shows what the configuration of the organisation does before it is used")
	case c.Type != "api" && c.Type != "oauth":
		return httpio.NewInvalid("body", "type", "type must be api, oauth or wellknown, got %q", session.ClipText(c.Type, 40))
	case c.Type == "api" && c.Key == "":
		return httpio.NewInvalid("body", "key", "key is missing")
	case c.Type == "api":
		return nil
	case c.Refresh == "":
		return httpio.NewInvalid("body", "refresh", "refresh is missing")
	case c.Expires == nil || *c.Expires < 0:
		return httpio.NewInvalid("body", "expires", "expires is missing or negative")
	}
	return nil
}

func (h authHandlers) set(ctx context.Context, in struct {
	providerIn
	Body credentialBody `body:"required"`
},
) (bool, error) {
	c := in.Body
	if c.Type == "api" {
		return true, httpio.WithPart("body", h.Credentials.SetKey(ctx, in.ProviderID, c.Key))
	}
	if c.EnterpriseURL != "" {
		return false, httpio.NewInvalid("body", "enterpriseUrl",
			"enterpriseUrl is not stored with a login; set provider.%s.options.enterpriseUrl in the configuration",
			session.ClipText(in.ProviderID, 80))
	}
	t := auth.Token{Refresh: auth.NewSecret(c.Refresh), Access: auth.NewSecret(c.Access)}
	if *c.Expires > 0 {
		t.Expires = time.UnixMilli(*c.Expires)
	}
	return true, httpio.WithPart("body", h.Credentials.SetToken(ctx, in.ProviderID, t))
}

// remove removes the credential of a provider. It succeeds for every id, as in OpenCode.
func (h authHandlers) remove(ctx context.Context, in providerIn) (bool, error) {
	return true, h.Credentials.RemoveKey(ctx, in.ProviderID)
}

// browserMethod is the index of the browser login of a provider that has one.
const browserMethod = 0

// listMethods lists the methods of all providers: the browser login of providers that have one, and an API key.
func (h authHandlers) listMethods(ctx context.Context, in locationIn) (map[string][]plugin.AuthMethod, error) {
	p, err := listOf(catalogHandlers(h), (*Location).ListProviders)(ctx, in)
	if err != nil {
		return nil, err
	}
	out := map[string][]plugin.AuthMethod{}
	logins := h.Credentials.Logins()
	fromPlugins, err := h.Credentials.PluginLogins(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	for id, login := range fromPlugins {
		out[id] = login.Methods
	}
	for _, v := range p.All {
		if _, ok := fromPlugins[v.ID]; ok { // its list is whole, as in OpenCode
			continue
		}
		if label := logins[v.ID]; label != "" {
			out[v.ID] = append(out[v.ID], plugin.AuthMethod{Type: "oauth", Label: label})
		}
		if len(v.Env) > 0 {
			out[v.ID] = append(out[v.ID], plugin.AuthMethod{Type: "api", Label: "API key"})
		}
	}
	return out, nil
}

// loginRequest is the body of requests about a login.
type loginRequest struct {
	Method *int              `json:"method"`
	Inputs map[string]string `json:"inputs,omitzero"` // of a login of a plugin
	Code   string            `json:"code,omitzero"`   // that a login of a plugin asks for; vendors redirect to the server
}

// loginIn is a request about a login.
type loginIn struct {
	providerIn
	locationIn
	Body loginRequest `body:"required"`
}

// authorize starts a login and returns where the user logs in. With the method auto the result arrives without a further
// request; with code finishLogin passes on the code that the page shows. It cancels an earlier login at the provider.
func (h authHandlers) authorize(ctx context.Context, in loginIn) (plugin.Authorization, error) {
	isPlugin, err := h.checkLogin(ctx, in)
	if err != nil {
		return plugin.Authorization{}, err
	}
	run := h.logInAtVendor(in)
	if isPlugin {
		run = h.logInWithPlugin(in)
	}
	page, err := h.logins.start(ctx, in.ProviderID, run)
	return page, httpio.WithPart("params", err)
}

// logInAtVendor returns the browser login of a vendor.
func (h authHandlers) logInAtVendor(in loginIn) loginFunc {
	return func(ctx context.Context, d plugin.LoginDialog) error {
		return h.Credentials.LogIn(ctx, in.Location.Location, in.ProviderID, func(url, code string) {
			instructions := "Complete the login in the browser; cairn continues when it is done."
			if code != "" {
				instructions = "Enter code: " + code
			}
			d.Show(plugin.Authorization{URL: url, Method: "auto", Instructions: instructions})
		})
	}
}

// logInWithPlugin returns the login of a plugin.
func (h authHandlers) logInWithPlugin(in loginIn) loginFunc {
	return func(ctx context.Context, d plugin.LoginDialog) error {
		d.Inputs = in.Body.Inputs
		return h.Credentials.LogInWith(ctx, in.Location.Location, in.ProviderID, *in.Body.Method, d)
	}
}

// finishLogin waits for the end of the login that authorize started, after it has passed on the code that the person got.
func (h authHandlers) finishLogin(ctx context.Context, in loginIn) (bool, error) {
	if _, err := h.checkLogin(ctx, in); err != nil {
		return false, err
	}
	if in.Body.Code != "" {
		h.logins.giveCode(in.ProviderID, in.Body.Code)
	}
	if h.logins.lacksCode(in.ProviderID) {
		missing := newNamedError("ProviderAuthOauthCodeMissing", "code is missing: the page of the login shows it")
		return false, &statusError{http.StatusBadRequest, missing}
	}
	long, end := h.long.Start(ctx, "")
	defer end()
	err := h.logins.wait(long, in.ProviderID)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, errNoLogin):
		missing := newNamedError("ProviderAuthOauthMissing", "no login at "+in.ProviderID+" was started")
		return false, &statusError{http.StatusBadRequest, missing}
	case long.Err() != nil:
		return false, context.Cause(long)
	default:
		message := session.ClipText(httpio.PublicError(err).Error(), maxMessage)
		return false, &statusError{http.StatusBadRequest, newNamedError("ProviderAuthOauthCallbackFailed", message)}
	}
}

// checkLogin refuses providers and methods that are no browser login, and no login of a plugin.
func (h authHandlers) checkLogin(ctx context.Context, in loginIn) (isPlugin bool, err error) {
	id, logins, method := in.ProviderID, h.Credentials.Logins(), in.Body.Method
	if method == nil {
		return false, httpio.NewInvalid("body", "method", "method is missing")
	}
	fromPlugins, err := h.Credentials.PluginLogins(ctx, in.Location.Location)
	if err != nil {
		return false, err
	}
	login, isPlugin := fromPlugins[id]
	switch {
	case isPlugin && (*method < 0 || *method >= len(login.Methods)):
		return false, httpio.NewInvalid("body", "method", "%s has %d methods, the first one is 0", id, len(login.Methods))
	case isPlugin:
		return true, nil
	case logins[id] == "":
		return false, httpio.NewInvalid("params", "providerID", "%q has no browser login; providers that have one: %v",
			session.ClipText(id, 80), slices.Sorted(maps.Keys(logins)))
	case *method != browserMethod:
		return false, httpio.NewInvalid("body", "method", "method %d of %s is not the browser login; use method %d",
			*method, id, browserMethod)
	}
	return false, nil
}
