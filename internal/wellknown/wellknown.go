// Package wellknown gets the configuration that an organisation offers to those who work for it: the JSON document at
// /.well-known/opencode below the address that they logged in to (spec/v1 §35.1).
//
// A document is fetched by https, or by http from this machine; from that address only, without following redirects,
// within bounds of time and size. What was fetched last is kept, so that it holds offline too. Nothing here believes
// what a document says: it is kept as it came. It may name further configuration elsewhere; who asks for that decides
// whether the token may go there.
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

// Path is where a document lies below its address.
const Path = "/.well-known/opencode"

const (
	MaxDocument = 256 << 10 // bytes
	patience    = 10 * time.Second
)

// Document is what an address says.
type Document struct {
	Auth   Auth           `json:"auth"`
	Config jsontext.Value `json:"config"`
	Remote jsontext.Value `json:"remote_config"` // further configuration, see Elsewhere
}

// Auth says how to get a token for what the configuration names.
type Auth struct {
	Command []string `json:"command"` // prints one; cairn never runs it
	Env     string   `json:"env"`     // the variable by which the configuration refers to it; "" needs none
}

// Address checks what a person typed and returns it in the one form in which it is kept.
func Address(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Host == "":
		return "", fmt.Errorf("%q is not an address such as https://example.org", text)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return "", errors.New("a configuration is taken by https only, or by http from this machine")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address of a configuration has no user, query or fragment")
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), Path), ""
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Parse reads a document.
func Parse(raw []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(raw, &d); err != nil || d.Config != nil && d.Config.Kind() != '{' {
		return d, errors.New("what is there is not such a document: JSON with an object config")
	}
	return d, nil
}

// Fetch gets the document of an address.
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

// get fetches a URL. Errors name it without its query.
func get(ctx context.Context, location string, header http.Header, transport http.RoundTripper) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	shown := plain(req.URL)
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json")
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", shown, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with %s", shown, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s ends too early: %w", shown, err)
	case len(raw) > MaxDocument:
		return nil, fmt.Errorf("%s is longer than %d bytes", shown, MaxDocument)
	}
	return raw, nil
}
