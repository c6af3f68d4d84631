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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
)

// Login obtains a credential from a vendor with a browser, instead of copying a key.
type Login struct {
	Client *http.Client
	// Show shows the user a URL and the code to enter there; the code may be empty.
	Show func(url, code string)
	// ClientID is the OAuth app of a login at GitHub.
	ClientID string
	// Base replaces the vendor's address, and Listen that of the browser's answer, in tests.
	Base, Listen string
}

// loginTimeout bounds the time that the user takes.
const loginTimeout = 10 * time.Minute

// OpenRouter logs in with PKCE (RFC 7636) and returns a new key. The vendor's answer comes to a port of this machine,
// on a path that only the vendor knows.
func (l Login) OpenRouter(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errLoginTimeout)
	defer cancel()
	// Listen before the browser is opened.
	listeners, err := listenLoopback(ctx, cmp.Or(l.Listen, "127.0.0.1:3000"))
	if err != nil {
		return "", fmt.Errorf("the login needs port 3000 of this machine for the browser's answer: %w", err)
	}
	answers := make(chan url.Values, 1) // the first answer wins
	path := "/callback/" + oauth2.GenerateVerifier()
	// Serve the callback on a secret path, so that other pages cannot send an answer.
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, Handler: callbackHandler(path, answers),
	}
	var running sync.WaitGroup
	for _, listener := range listeners {
		running.Go(func() { _ = server.Serve(listener) }) // ends with Close
	}
	defer func() { _ = server.Close(); running.Wait() }()
	// Show the address of the login page.
	base, verifier := cmp.Or(l.Base, "https://openrouter.ai"), oauth2.GenerateVerifier()
	_, port, _ := net.SplitHostPort(listeners[0].Addr().String())
	l.Show(base+"/auth?"+url.Values{
		"callback_url":   {"http://localhost:" + port + path},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}.Encode(), "")
	// Wait for the answer and exchange its code for a key.
	select {
	case <-ctx.Done():
		return "", loginError("OpenRouter", context.Cause(ctx))
	case answer := <-answers:
		if name := answer.Get("error"); name != "" {
			return "", loginError("OpenRouter", oauthError(name, answer.Get("error_description")))
		}
		return l.openRouterKey(ctx, base, answer.Get("code"), verifier)
	}
}

// listenLoopback listens at an address and, if possible, at the same port of the IPv6 loopback address: a browser may
// resolve localhost to either, and another program at the other one would receive the vendor's answer.
func listenLoopback(ctx context.Context, address string) ([]net.Listener, error) {
	first, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("::1", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, errors.Join(err, first.Close())
	}
	if err != nil { // the machine has no such address
		return []net.Listener{first}, nil
	}
	return []net.Listener{first, second}, nil
}

// callbackHandler accepts the vendor's answer at path and nothing elsewhere.
func callbackHandler(path string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != path || q.Get("code") == "" && q.Get("error") == "" {
			http.NotFound(w, r)
			return
		}
		select {
		case answers <- q:
		default:
		}
		_, _ = io.WriteString(w, "The login continues in the terminal; you can close this page.\n") // the browser may be gone
	})
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
		return "", loginError("OpenRouter", cmp.Or(context.Cause(ctx), err))
	}
	defer resp.Body.Close()
	if !isSuccess(resp) {
		return "", fmt.Errorf("the login at OpenRouter failed: the server answered with HTTP %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var out struct {
		Key string `json:"key"`
	}
	if err != nil || json.Unmarshal(raw, &out) != nil || out.Key == "" { // the decoder's error may quote the key
		return "", errors.New("the login at OpenRouter failed: the response contains no key")
	}
	return out.Key, nil
}

// errLoginTimeout is the cause of a login that the user does not complete.
var errLoginTimeout = errors.New("the login timed out")

// loginError names the vendor in an error. A cancellation by the user stays visible in it.
func loginError(who string, err error) error {
	if errors.Is(err, errLoginTimeout) {
		return fmt.Errorf("the login at %s failed: it was not completed in time; try again", who)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = errors.New(transportError(who, e).Message)
	}
	return fmt.Errorf("the login at %s failed: %w", who, err)
}

// oauthError returns the error for a standard OAuth error name and the vendor's description.
func oauthError(name, description string) error {
	text := cmp.Or(description, name)
	switch name {
	case "access_denied":
		text = "access was denied"
	case "expired_token":
		return errLoginTimeout
	}
	return fmt.Errorf("%.300s", strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text))
}
