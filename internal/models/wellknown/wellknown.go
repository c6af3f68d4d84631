// Package wellknown fetches and caches the configuration that an organisation offers to its members: the JSON document
// at /.well-known/opencode below the address that they logged in to.
//
// A document is fetched by https, or by http from this machine, from that address only, without redirects, within
// bounds of time and size. The last one is cached, so that it also holds offline. It is stored as it came; package
// config validates it. It may name a further configuration elsewhere (remote_config). Callers that fetch that one
// decide whether the token may go there.
package wellknown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Path is the path of a document below its address.
const Path = "/.well-known/opencode"

const (
	MaxDocument  = 256 << 10 // bytes
	fetchTimeout = 10 * time.Second
)

// Document is the document at an organisation's address.
type Document struct {
	Auth   Auth           `json:"auth"`
	Config jsontext.Value `json:"config"`
	Remote jsontext.Value `json:"remote_config"` // a further configuration, see RemoteConfig
}

// Auth says how to get the token that the configuration needs.
type Auth struct {
	Command []string `json:"command"` // prints the token; cairn never runs it
	Env     string   `json:"env"`     // the variable that stands for it in the configuration; "" if none is needed
}

// NormalizeAddress checks an address that a person typed and returns it in the form in which it is stored.
func NormalizeAddress(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Host == "":
		return "", fmt.Errorf("%q is not an address such as https://example.org", text)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return "", errors.New("a configuration is fetched by https only, or by http from this machine")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address of a configuration must have no user, query or fragment")
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), Path), ""
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Parse parses a document.
func Parse(raw []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(raw, &d); err != nil || d.Config != nil && d.Config.Kind() != '{' {
		return d, errors.New("it is not a configuration document: a JSON object with an object \"config\"")
	}
	return d, nil
}

// Fetch fetches the document of an address.
func Fetch(ctx context.Context, address string, transport http.RoundTripper) ([]byte, error) {
	raw, err := get(ctx, address+Path, nil, transport)
	if err != nil {
		return nil, err
	}
	if _, err := Parse(raw); err != nil {
		return nil, fmt.Errorf("%s%s: %w", address, Path, err)
	}
	return raw, nil
}

// get fetches a URL. Errors show it without its query.
func get(ctx context.Context, location string, header http.Header, transport http.RoundTripper) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	// Send the request. A redirect is not followed: the header may contain the token.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	shown := showURL(req.URL)
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json")
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: noRedirects}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", shown, errors.Unwrap(err))
	}
	// Read the answer within its limit.
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with %s", shown, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s is not complete: %w", shown, err)
	case len(raw) > MaxDocument:
		return nil, fmt.Errorf("%s is longer than %d bytes", shown, MaxDocument)
	}
	return raw, nil
}
