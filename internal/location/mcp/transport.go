package mcp

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 32 << 20

// passedVariables are those that servers get besides the usual ones of programs: where the desktop, the proxies and the
// certificates of the user are. Keys are not among them; a server gets them by its configuration.
var passedVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"NODE_EXTRA_CA_CERTS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "SYSTEMROOT",
}

// startLocal starts the program of a local server.
func (s *server) startLocal() (*process.Child, error) {
	c := s.config
	if len(c.Command) == 0 {
		return nil, errors.New("its configuration has no command")
	}
	path := c.Command[0]
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(s.set.workDir(c), path)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w", c.Command[0], errors.Unwrap(err))
	}
	return process.StartChild(process.Spec{
		Argv: append([]string{path}, c.Command[1:]...), Dir: s.set.workDir(c), Env: s.listEnvironment(),
		Supervisor: s.set.pool.options.Supervisor, Processes: process.MaxProcesses,
	})
}

// listEnvironment returns the variables of a local server: the usual ones, without keys, and those of its
// configuration, which may be keys. Variables of cairn itself cannot be set.
func (s *server) listEnvironment() []string {
	env := s.environment
	env.Pass = append(slices.Clip(env.Pass), passedVariables...)
	list := env.List()
	for _, name := range slices.Sorted(maps.Keys(s.config.Environment)) {
		if strings.HasPrefix(name, "CAIRN_") {
			continue
		}
		list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		list = append(list, name+"="+s.config.Environment[name])
	}
	return list
}

// listRemote returns the transports to a remote server, best first: streamable HTTP, the same without the stream for
// messages that the server begins, which some gateways hold back, and the older SSE.
func (s *server) listRemote(client *http.Client) []sdk.Transport {
	endpoint, login, old := s.config.URL, s.login, *client
	if login != nil {
		old.Transport = &loginTripper{client.Transport, login}
	}
	return []sdk.Transport{
		&sdk.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client, OAuthHandler: login, MaxEventSize: maxMessage},
		&sdk.StreamableClientTransport{
			Endpoint: endpoint, HTTPClient: client, OAuthHandler: login, MaxEventSize: maxMessage,
			DisableStandaloneSSE: true,
		},
		&sseTransport{sdk.SSEClientTransport{Endpoint: endpoint, HTTPClient: &old, MaxEventSize: maxMessage}},
	}
}

// remoteTripper sends requests to the configured server only, wherever the SDK was led by an answer: a redirect, or the
// endpoint that a server of the older SSE names. It adds the configured headers, bounds and repairs answers, and
// remembers that a request was refused for want of a login.
type remoteTripper struct {
	base         http.RoundTripper
	headers      map[string]string
	server       *url.URL
	unauthorized *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (t *remoteTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isSameServer(t.server, r.URL) {
		return nil, fmt.Errorf("it leads to %s://%s, another server; configure that address if it is meant",
			r.URL.Scheme, r.URL.Host)
	}
	r = r.Clone(r.Context())
	for name, value := range t.headers {
		r.Header.Set(name, value)
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		t.unauthorized.Store(true)
	}
	repairBody(r, resp)
	return resp, nil
}

// isSameServer reports whether an address is on the host of the server, with its scheme or https.
func isSameServer(server, other *url.URL) bool {
	return hostOf(server) == hostOf(other) && (other.Scheme == server.Scheme || other.Scheme == "https")
}

// hostOf returns the host of an address, with the port unless it is that of the scheme.
func hostOf(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
}

// newClient returns the HTTP client of a remote server.
func (s *server) newClient(server *url.URL, unauthorized *atomic.Bool) *http.Client {
	var base http.RoundTripper = http.DefaultTransport.(*http.Transport).Clone()
	if wrap := s.set.pool.options.WrapTransport; wrap != nil {
		base = wrap(base)
	}
	return &http.Client{
		Transport: &remoteTripper{base, s.config.Headers, server, unauthorized},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > 5 {
				return errors.New("it redirects too often")
			}
			return nil
		},
	}
}
