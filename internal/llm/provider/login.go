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

// OpenRouter logs in with PKCE (RFC 7636) and returns a key that the vendor makes for it. The vendor answers to a port
// of this machine, on a path that only the vendor was told.
func (l Login) OpenRouter(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, errNobody)
	defer cancel()
	listeners, err := listen(ctx, cmp.Or(l.Listen, "127.0.0.1:3000"))
	if err != nil {
		return "", fmt.Errorf("the browser's answer comes to port 3000 of this machine, which is taken: %w", err)
	}
	answers := make(chan url.Values, 1) // the first counts
	path := "/callback/" + oauth2.GenerateVerifier()
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, Handler: callback(path, answers)}
	var served sync.WaitGroup
	for _, listener := range listeners {
		served.Go(func() { _ = server.Serve(listener) }) // ends with Close
	}
	defer func() { _ = server.Close(); served.Wait() }()
	base, verifier := cmp.Or(l.Base, "https://openrouter.ai"), oauth2.GenerateVerifier()
	_, port, _ := net.SplitHostPort(listeners[0].Addr().String())
	l.Say(base+"/auth?"+url.Values{
		"callback_url":   {"http://localhost:" + port + path},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}.Encode(), "")
	select {
	case <-ctx.Done():
		return "", loginError("OpenRouter", context.Cause(ctx))
	case answer := <-answers:
		if why := answer.Get("error"); why != "" {
			return "", loginError("OpenRouter", refusal(why, answer.Get("error_description")))
		}
		return l.openRouterKey(ctx, base, answer.Get("code"), verifier)
	}
}

// listen listens at an address and, where that is possible, at the same port of the other loopback address: browsers may
// take either for localhost, and another program at the other one would get what is meant for us.
func listen(ctx context.Context, address string) ([]net.Listener, error) {
	first, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("::1", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, errors.Join(err, first.Close())
	}
	if err != nil { // there is no such address
		return []net.Listener{first}, nil
	}
	return []net.Listener{first, second}, nil
}

// callback takes the vendor's answer at a path, and nothing anywhere else.
func callback(path string, answers chan<- url.Values) http.Handler {
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
		_, _ = io.WriteString(w, "This page can be closed; the terminal says how the login went.\n") // the browser may be gone
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

// errNobody is why a login ends that nobody finishes.
var errNobody = errors.New("nobody logged in in time")

// loginError says of whom an error tells. That somebody ended the login himself stays to be seen in it.
func loginError(who string, err error) error {
	if errors.Is(err, errNobody) {
		return fmt.Errorf("the login at %s failed: nobody logged in within the time that there was", who)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = errors.New(transportError(who, e).Message)
	}
	return fmt.Errorf("the login at %s failed: %w", who, err)
}

// refusal says what a vendor says, by a name of the standard's and in its own words.
func refusal(name, description string) error {
	text := cmp.Or(description, name)
	switch name {
	case "access_denied":
		text = "it was denied"
	case "expired_token":
		return errNobody
	}
	return fmt.Errorf("%.300s", strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text))
}
