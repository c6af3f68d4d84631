package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
)

// Login is a way to get a credential from a vendor with a browser instead of copying a key.
type Login struct {
	Client *http.Client
	// Say shows a person where to go, and the code to type there; empty where none is needed.
	Say func(url, code string)
	// ClientID is the OAuth app in whose name GitHub is asked.
	ClientID string
	// Base takes the place of the vendor's address; Listen that of the address of the answer, for tests.
	Base, Listen string
}

// loginTime is how long a person may take.
const loginTime = 10 * time.Minute

// GitHub logs in by the device flow (RFC 8628) and returns GitHub's token.
func (l Login) GitHub(ctx context.Context) (string, error) {
	if l.ClientID == "" {
		return "", errors.New("GitHub asks in whose name you log in: set provider.github-copilot.options.clientId to the id of an OAuth app of yours or your organisation's")
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, l.Client), loginTime)
	defer cancel()
	base := cmp.Or(l.Base, "https://github.com")
	c := oauth2.Config{ClientID: l.ClientID, Scopes: []string{"read:user"}, Endpoint: oauth2.Endpoint{
		DeviceAuthURL: base + "/login/device/code", TokenURL: base + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams,
	}}
	device, err := c.DeviceAuth(ctx)
	if err != nil {
		return "", loginError("GitHub", err)
	}
	l.Say(device.VerificationURI, device.UserCode)
	token, err := c.DeviceAccessToken(ctx, device)
	if err != nil {
		return "", loginError("GitHub", err)
	}
	return token.AccessToken, nil
}

// OpenRouter logs in with PKCE (RFC 7636) and returns a key that the vendor makes for it. The vendor answers to a port
// of this machine.
func (l Login) OpenRouter(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(l.Listen, "127.0.0.1:3000"))
	if err != nil {
		return "", fmt.Errorf("the browser's answer comes to port 3000 of this machine, which is taken: %w", err)
	}
	codes := make(chan string, 1) // the first counts
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := r.URL.Query().Get("code")
		if code == "" || r.URL.Path != "/callback" {
			http.NotFound(w, r)
			return
		}
		select {
		case codes <- code:
		default:
		}
		_, _ = io.WriteString(w, "You are logged in. This page can be closed.\n") // the browser may be gone
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }() // ends with Close
	defer func() { _ = server.Close(); <-served }()
	base, verifier := cmp.Or(l.Base, "https://openrouter.ai"), oauth2.GenerateVerifier()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	l.Say(base+"/auth?"+url.Values{
		"callback_url":   {"http://localhost:" + port + "/callback"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}.Encode(), "")
	select {
	case <-ctx.Done():
		return "", loginError("OpenRouter", context.Cause(ctx))
	case code := <-codes:
		return l.openRouterKey(ctx, base, code, verifier)
	}
}

func (l Login) openRouterKey(ctx context.Context, base, code, verifier string) (string, error) {
	body, err := json.Marshal(map[string]string{"code": code, "code_verifier": verifier, "code_challenge_method": "S256"})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/auth/keys", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := l.Client.Do(r)
	if err != nil {
		return "", loginError("OpenRouter", err)
	}
	defer resp.Body.Close()
	if !good(resp) {
		return "", fmt.Errorf("the login at OpenRouter failed: it answered with HTTP %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var out struct {
		Key string `json:"key"`
	}
	if err != nil || json.Unmarshal(raw, &out) != nil || out.Key == "" { // its error may quote the key
		return "", errors.New("the login at OpenRouter failed: it answered without a key")
	}
	return out.Key, nil
}

func loginError(who string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("nobody logged in at %s within %s", who, loginTime)
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("the login at %s failed: %.300s", who, cmp.Or(e.ErrorDescription, e.ErrorCode, e.Response.Status))
	}
	return fmt.Errorf("the login at %s failed: %s", who, transportError(who, err).Message)
}
