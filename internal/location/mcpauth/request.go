package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	stored "github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/netaddr"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Bounds of requests to the servers that issue tokens.
const (
	maxBody        = 1 << 20
	requestTimeout = 20 * time.Second
)

// newClient returns a client for requests that a login at the MCP server needs. The addresses come from that server, so
// the client reaches public ones only, and private ones if the server itself is on this machine or in a private network.
// It keeps no connections.
func newClient(ctx context.Context, server string) *http.Client {
	proxied := http.DefaultTransport.(*http.Transport).Clone()
	proxied.DisableKeepAlives = true
	direct := proxied.Clone()
	private := isPrivate(ctx, server)
	dialer := &net.Dialer{Timeout: requestTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		return checkAddress(address, private)
	}}
	direct.DialContext, direct.Proxy = dialer.DialContext, nil
	return &http.Client{Transport: guarded{proxied, direct}, Timeout: requestTimeout, CheckRedirect: checkRedirect}
}

// guarded sends requests by the proxy of the environment if there is one for them, else directly, with a check of the
// address. It bounds the bodies of answers.
type guarded struct{ proxied, direct *http.Transport }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkScheme(r.URL); err != nil {
		return nil, err
	}
	transport := g.direct
	if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
		transport = g.proxied
	}
	resp, err := transport.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, err
}

// checkScheme refuses addresses whose requests others on the network can read: http, except on this machine.
func checkScheme(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s://%s is not protected by https, which a login needs", u.Scheme, u.Host)
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// checkRedirect follows redirects of reads on one host; a redirect of a request with secrets is not followed.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if first := via[0]; first.Method != http.MethodGet || r.URL.Host != first.URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// isPrivate reports whether an MCP server is on this machine or in a private network. One public address of a name makes
// it public: its owner could add a private one.
func isPrivate(ctx context.Context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	return err == nil && arePrivate(addrs)
}

func arePrivate(addrs []netip.Addr) bool {
	isPublic := func(a netip.Addr) bool { a = a.Unmap(); return !a.IsLoopback() && !a.IsPrivate() }
	return len(addrs) > 0 && !slices.ContainsFunc(addrs, isPublic)
}

// checkAddress refuses a connection to an address that is not public, unless private allows those of this machine and of
// private networks. Addresses of clouds for metadata are neither.
func checkAddress(address string, private bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	why := netaddr.DescribeSpecial(at.Addr().Unmap())
	if why == "" || private && arePrivate([]netip.Addr{at.Addr()}) {
		return nil
	}
	return fmt.Errorf("%s is %s, which a login does not reach", at.Addr(), why)
}

// tokenError is the refusal of a server that issues tokens (RFC 6749, section 5.2).
type tokenError struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *tokenError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the authorization server refused: status %d %s %s", e.Status,
		cutLine(e.Code), cutLine(e.Description)))
}

// isFinal reports whether the refresh token, or the client, is of no use any more.
func (e *tokenError) isFinal() bool {
	return e.Code == "invalid_grant" || e.Code == "invalid_client" || e.Code == "unauthorized_client"
}

// cutLine returns the beginning of a text of a server as one line.
func cutLine(text string) string { return terminal.FirstLine(text, 200) }

// postForm sends a form as the client of the login and decodes the answer into out unless it is nil.
func postForm(ctx context.Context, l login, address string, form url.Values, out any) error {
	// Authenticate the client.
	if l.secret.IsZero() || !l.InHeader {
		form.Set("client_id", l.ClientID)
	}
	if !l.secret.IsZero() && !l.InHeader {
		form.Set("client_secret", l.secret.Reveal())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if !l.secret.IsZero() && l.InHeader {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.secret.Reveal()))
	}
	// Send the form and decode the answer.
	resp, err := newClient(ctx, l.URL).Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		refusal := &tokenError{Status: resp.StatusCode}
		_ = json.Unmarshal(body, refusal) // a body of another form says nothing
		return refusal
	}
	if out != nil && json.Unmarshal(body, out) != nil {
		return errors.New("the answer of the authorization server is invalid") // the body may have tokens
	}
	return nil
}

// requestToken sends a form to the token endpoint of the login and returns the token.
func requestToken(ctx context.Context, l login, form url.Values) (stored.Token, error) {
	var answer struct {
		Access    string  `json:"access_token"`
		Type      string  `json:"token_type"`
		Refresh   string  `json:"refresh_token"`
		ExpiresIn float64 `json:"expires_in"`
	}
	if err := postForm(ctx, l, l.details.Token, form, &answer); err != nil {
		return stored.Token{}, err
	}
	if answer.Access == "" || !strings.EqualFold(answer.Type, "bearer") && answer.Type != "" {
		return stored.Token{}, errors.New("the authorization server issued no bearer token")
	}
	out := stored.Token{Access: stored.NewSecret(answer.Access), Refresh: stored.NewSecret(answer.Refresh)}
	if answer.ExpiresIn > 0 {
		out.Expires = time.Now().Add(time.Duration(min(answer.ExpiresIn, 1e9)) * time.Second)
	}
	return out, nil
}
