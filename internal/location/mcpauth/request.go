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
	"unicode"

	"github.com/go-json-experiment/json"

	stored "github.com/cairn-dev/cairn/internal/access/auth"
)

// Bounds of requests to the servers that issue tokens.
const (
	maxBody        = 1 << 20
	requestTimeout = 20 * time.Second
)

// newClient returns a client for requests that a login at the MCP server needs. The addresses come from that server, so
// the client reaches public ones only, unless the server itself is on this machine or in a private network.
func newClient(server string) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	if u, err := url.Parse(server); err != nil || !isLocal(u.Hostname()) {
		dialer := &net.Dialer{Timeout: requestTimeout, Control: refuseLocal}
		direct := base.Clone()
		direct.DialContext, direct.Proxy = dialer.DialContext, nil
		return &http.Client{Transport: guarded{base, direct}, Timeout: requestTimeout, CheckRedirect: checkRedirect}
	}
	return &http.Client{Transport: bounded{base}, Timeout: requestTimeout, CheckRedirect: checkRedirect}
}

// guarded sends requests by the proxy of the environment if there is one for them, else directly, with a check of the
// address.
type guarded struct{ base, direct *http.Transport }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
		return bounded{g.base}.RoundTrip(r)
	}
	return bounded{g.direct}.RoundTrip(r)
}

// bounded bounds the bodies of answers.
type bounded struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, err
}

// checkRedirect follows redirects of reads on one host; a redirect of a request with secrets is not followed.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if first := via[0]; first.Method != http.MethodGet || r.URL.Host != first.URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// isLocal reports whether a host is on this machine or in a private network.
func isLocal(host string) bool {
	ips, err := net.LookupIP(host)
	return err == nil && slices.ContainsFunc(ips, func(ip net.IP) bool {
		a, ok := netip.AddrFromSlice(ip)
		return ok && !isPublic(a.Unmap())
	})
}

func isPublic(a netip.Addr) bool {
	shared := netip.MustParsePrefix("100.64.0.0/10")
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLinkLocalUnicast() && !shared.Contains(a)
}

// refuseLocal refuses connections to addresses that are not public.
func refuseLocal(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && !isPublic(at.Addr().Unmap()) {
		err = fmt.Errorf("%s is not a public address, and the MCP server is", at.Addr())
	}
	return err
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

// cutLine returns the beginning of a text as one line.
func cutLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), unicode.IsControl), " ")
	return text[:min(len(text), 200)]
}

func cutScope(scope string) string { return fmt.Sprintf("%q", cutLine(scope)) }

// postForm sends a form as the client of the login and decodes the answer into out unless it is nil.
func postForm(ctx context.Context, l login, address string, form url.Values, out any) error {
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
	resp, err := newClient(l.URL).Do(r)
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
