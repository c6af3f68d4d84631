package wellknown

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
)

// RemoteConfig is the further configuration that a document names with remote_config.
type RemoteConfig struct {
	URL        string
	Header     map[string]string // {env:NAME} in a value stands for the token, for the NAME of the login only
	SameOrigin bool              // as the address of the login
	Local      bool              // the login is at this machine, so URL may be too

	address string
	env     string
}

const (
	maxHeaders = 32
	maxHeader  = 8 << 10 // bytes of one value
)

// forbiddenHeaders control the connection.
var forbiddenHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer",
}

// RemoteConfig returns the configuration that the document of an address names; nil if it names none. Its URL must
// follow the rules of an address and contain no reference to the token, since logs and proxies show URLs.
func (d Document) RemoteConfig(address string) (*RemoteConfig, error) {
	// Read the reference.
	if d.Remote == nil || d.Remote.Kind() == 'n' {
		return nil, nil
	}
	var in struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(d.Remote, &in); err != nil || in.URL == "" {
		return nil, errors.New("remote_config must be an object with a url and, if any, headers that are strings")
	}
	// The address of the login decides whether this machine may be named.
	home, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	e := &RemoteConfig{
		URL: in.URL, Header: in.Headers, Local: isLoopback(home.Hostname()), address: address, env: d.Auth.Env,
	}
	// Check the URL. https, or http if both are on this machine; nothing secret in it.
	u, err := url.Parse(in.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("the url of remote_config is not an address such as https://example.org/config")
	case u.Scheme != "https" && (u.Scheme != "http" || !e.Local || !isLoopback(u.Hostname())):
		return nil, errors.New("remote_config is fetched by https only, or by http from this machine if the login is at " +
			"this machine too")
	case u.User != nil || u.Fragment != "" || strings.Contains(in.URL, "{"):
		return nil, errors.New("the url of remote_config must have no user, fragment or {env:NAME}; put the token into " +
			"headers")
	}
	// The token may be sent to the same origin without further trust.
	e.SameOrigin = u.Scheme == home.Scheme && strings.EqualFold(u.Host, home.Host)
	return e, e.checkHeaders()
}

func (e *RemoteConfig) checkHeaders() error {
	if len(e.Header) > maxHeaders {
		return fmt.Errorf("remote_config has more than %d headers", maxHeaders)
	}
	for name, value := range e.Header {
		switch {
		case len(value) > maxHeader:
			return fmt.Errorf("the header %.60q of remote_config is longer than %d bytes", name, maxHeader)
		case slices.Contains(forbiddenHeaders, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("remote_config must not set the header %q", name)
		}
	}
	return nil
}

// Source names the configuration where its values are explained: its URL without the query.
func (e *RemoteConfig) Source() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "remote_config"
	}
	return showURL(u)
}

// TokenHeaders returns the names of the headers that contain the token.
func (e *RemoteConfig) TokenHeaders() []string {
	var names []string
	for name, value := range e.Header {
		if e.env != "" && strings.Contains(value, e.tokenReference()) {
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(names)
	return names
}

func (e *RemoteConfig) tokenReference() string { return "{env:" + e.env + "}" }

// fetch fetches the configuration, a JSON object.
func (e *RemoteConfig) fetch(ctx context.Context, token auth.Secret, transport http.RoundTripper) ([]byte, error) {
	header := http.Header{}
	for name, value := range e.Header {
		if e.env != "" {
			value = strings.ReplaceAll(value, e.tokenReference(), token.Reveal())
		}
		header.Set(name, value)
	}
	raw, err := get(ctx, e.URL, header, transport)
	if err != nil {
		return nil, err
	}
	if v := jsontext.Value(raw); !v.IsValid() || v.Kind() != '{' {
		return nil, fmt.Errorf("%s is not a configuration: it is not a JSON object", e.Source())
	}
	return raw, nil
}

// showURL returns a URL without the parts that may hold secrets.
func showURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
