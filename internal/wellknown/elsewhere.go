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

	"github.com/cairn-dev/cairn/internal/auth"
)

// Elsewhere is further configuration that a document names: remote_config.
type Elsewhere struct {
	URL    string
	Header map[string]string // {env:NAME} in a value is the login's token, for its NAME and no other
	Near   bool              // it is at the origin that the user logged in to
	Local  bool              // the login is at this machine, and so may this be

	address string
	env     string
}

const (
	maxHeaders = 32
	maxHeader  = 8 << 10 // bytes of one value
)

// Elsewhere returns what the document of the address names, nil for nothing. It is held to the rules of an address, and no
// reference may stand in its URL: a URL is written down by everybody on the way.
func (d Document) Elsewhere(address string) (*Elsewhere, error) {
	if d.Remote == nil || d.Remote.Kind() == 'n' {
		return nil, nil
	}
	var in struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(d.Remote, &in); err != nil || in.URL == "" {
		return nil, errors.New("remote_config is not an object with a url, and with headers that are texts")
	}
	home, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	e := &Elsewhere{URL: in.URL, Header: in.Headers, Local: loopback(home.Hostname()), address: address, env: d.Auth.Env}
	u, err := url.Parse(in.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("the url of remote_config is not an address such as https://example.org/config")
	case u.Scheme != "https" && (u.Scheme != "http" || !e.Local || !loopback(u.Hostname())):
		return nil, errors.New("remote_config is fetched by https only, or by http from this machine when the login is at this machine too")
	case u.User != nil || u.Fragment != "" || strings.Contains(in.URL, "{"):
		return nil, errors.New("the url of remote_config has no user, fragment or {env:NAME}: a token goes into headers")
	}
	e.Near = u.Scheme == home.Scheme && strings.EqualFold(u.Host, home.Host)
	return e, e.bounded()
}

func (e *Elsewhere) bounded() error {
	if len(e.Header) > maxHeaders {
		return fmt.Errorf("remote_config has more than %d headers", maxHeaders)
	}
	for name, value := range e.Header {
		switch {
		case len(value) > maxHeader:
			return fmt.Errorf("the header %.60q of remote_config is longer than %d bytes", name, maxHeader)
		case slices.Contains([]string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer"}, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("the header %q of remote_config is not one that a configuration may set", name)
		}
	}
	return nil
}

// Source is what the configuration is called where its values are explained: its URL without the query.
func (e *Elsewhere) Source() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "remote_config"
	}
	return plain(u)
}

// Carriers are the headers that the token goes into.
func (e *Elsewhere) Carriers() []string {
	var names []string
	for name, value := range e.Header {
		if e.env != "" && strings.Contains(value, e.reference()) {
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(names)
	return names
}

func (e *Elsewhere) reference() string { return "{env:" + e.env + "}" }

// fetch gets it: a JSON object.
func (e *Elsewhere) fetch(ctx context.Context, token auth.Secret, transport http.RoundTripper) ([]byte, error) {
	header := http.Header{}
	for name, value := range e.Header {
		if e.env != "" {
			value = strings.ReplaceAll(value, e.reference(), token.Reveal())
		}
		header.Set(name, value)
	}
	raw, err := get(ctx, e.URL, header, transport)
	if err != nil {
		return nil, err
	}
	if v := jsontext.Value(raw); !v.IsValid() || v.Kind() != '{' {
		return nil, fmt.Errorf("%s is not a configuration: what is there is no JSON object", e.Source())
	}
	return raw, nil
}

// plain is a URL as it may be shown.
func plain(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
