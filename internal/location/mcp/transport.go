package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
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

// listEnvironment returns the variables of a local server. What its configuration sets reaches it, also a key that is
// denied to programs else; only cairn's own variables do not.
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

// listRemote returns the ways to reach a remote server, best first: streamable HTTP, the same without the stream on
// which the server speaks by itself, which some gateways hold back, and the older SSE. life is that of the connection.
func (s *server) listRemote(life context.Context, client *http.Client) []sdk.Transport {
	url, login, old := s.config.URL, s.login, *client
	if login != nil {
		old.Transport = &loginTripper{client.Transport, login}
	}
	begin := func() (context.Context, context.CancelFunc) { return context.WithCancel(life) }
	return []sdk.Transport{
		&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: client, OAuthHandler: login, MaxEventSize: maxMessage},
		&sdk.StreamableClientTransport{
			Endpoint: url, HTTPClient: client, OAuthHandler: login, MaxEventSize: maxMessage, DisableStandaloneSSE: true,
		},
		&sseTransport{begin, sdk.SSEClientTransport{Endpoint: url, HTTPClient: &old, MaxEventSize: maxMessage}},
	}
}

// remoteTripper adds the configured headers to requests, bounds answers, and remembers that one was refused for want of
// a login.
type remoteTripper struct {
	base         http.RoundTripper
	headers      map[string]string
	host         string // gets the headers
	unauthorized *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (t *remoteTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host {
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		t.unauthorized.Store(true)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // the SDK bounds each event
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxMessage), resp.Body}
	}
	return resp, nil
}

// newClient returns the HTTP client of a remote server. It follows redirects within the server's host only: what the
// user configured is where requests, with their headers, go.
func newClient(c config.MCP, host string, unauthorized *atomic.Bool) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = time.Minute
	return &http.Client{
		Transport: &remoteTripper{base: base, headers: c.Headers, host: host, unauthorized: unauthorized},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch first := via[0].URL; {
			case r.URL.Host != first.Host || r.URL.Scheme != first.Scheme && r.URL.Scheme != "https":
				return fmt.Errorf("it redirects to %s://%s, another server; configure that address if it is meant",
					r.URL.Scheme, r.URL.Host)
			case len(via) > 5:
				return errors.New("it redirects too often")
			}
			return nil
		},
	}
}

// connectTimeout bounds an attempt to connect a server that sets no timeout: a program that npx installs first takes
// long.
const connectTimeout = 30 * time.Second

// timeout bounds the connecting of the server and each list of what it offers. False, for no limit, is the default.
func (s *server) timeout() time.Duration {
	return cmp.Or(max(0, time.Duration(s.config.Timeout)), s.limit, connectTimeout)
}

// connectFirst connects over the first transport that works. They share the time of ctx.
func connectFirst(
	ctx context.Context, client *sdk.Client, all []sdk.Transport, isFinal func() bool,
) (session *sdk.ClientSession, err error) {
	var failures []error
	for i, t := range all {
		part := ctx
		if deadline, ok := ctx.Deadline(); ok && i < len(all)-1 {
			var cancel context.CancelFunc
			part, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(all)-i))
			defer cancel()
		}
		if session, err = client.Connect(part, t, nil); err == nil {
			return session, nil
		}
		failures = append(failures, err)
		if isFinal() || ctx.Err() != nil {
			break
		}
	}
	return nil, failures[0] // the newest protocol says best what is wrong
}
