// Package wellknown gets the configuration that an organisation offers to those who work for it: the JSON document at
// /.well-known/opencode below the address that they logged in to (spec/v1 §35.1).
//
// A document is fetched by https, or by http from this machine; from that address only, without following redirects,
// within bounds of time and size. What was fetched last is kept, so that it holds offline too. Nothing here believes
// what a document says: it is kept as it came.
package wellknown

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Path is where a document lies below its address.
const Path = "/.well-known/opencode"

const (
	maxDocument = 256 << 10
	patience    = 10 * time.Second
)

// Document is what an address says.
type Document struct {
	Auth   Auth           `json:"auth"`
	Config jsontext.Value `json:"config"`
	Remote *struct{}      `json:"remote_config"` // further configuration elsewhere; it is not fetched
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+Path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s%s cannot be reached: %w", address, Path, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s%s answers with %s", address, Path, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s%s ends too early: %w", address, Path, err)
	case len(raw) > maxDocument:
		return nil, fmt.Errorf("%s%s is longer than %d bytes", address, Path, maxDocument)
	}
	if _, err := Parse(raw); err != nil {
		return nil, fmt.Errorf("%s%s: %w", address, Path, err)
	}
	return raw, nil
}

// Cache is the folder of what was fetched.
type Cache struct{ Dir string }

// In is the cache below the directory of all caches.
func In(dir string) Cache { return Cache{filepath.Join(dir, "wellknown")} }

// File is where the document of an address is kept.
func (c Cache) File(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:12])+".json")
}

// Keep keeps a document. The same content again leaves the file as it is, so that nobody reads it anew.
func (c Cache) Keep(address string, raw []byte) error {
	file := c.File(address)
	if was, err := statefile.Read(file, maxDocument); err == nil && string(was) == string(raw) {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	return statefile.Replace(file, raw, 0o600)
}

// Forget removes the document of an address.
func (c Cache) Forget(address string) error {
	for _, file := range []string{c.File(address), c.File(address) + asked} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Due reports whether the address was last asked longer ago than the age, or never.
func (c Cache) Due(address string, age time.Duration) bool {
	info, err := os.Stat(c.File(address) + asked)
	return err != nil || time.Since(info.ModTime()) > age
}

// Refresh asks the address again and keeps what it says. Whatever it answers, it counts as asked.
func (c Cache) Refresh(ctx context.Context, address string, transport http.RoundTripper) error {
	raw, err := Fetch(ctx, address, transport)
	if dir := os.MkdirAll(c.Dir, 0o700); dir != nil {
		return errors.Join(err, dir)
	}
	err = errors.Join(err, os.WriteFile(c.File(address)+asked, nil, 0o600))
	if raw != nil {
		err = errors.Join(err, c.Keep(address, raw))
	}
	return err
}

// asked is the ending of the file whose time says when an address was asked.
const asked = ".asked"
