// Package mcpauth logs in at remote MCP servers with OAuth 2.1, as the authorization part of MCP's specification of
// 2025-11-25 says: discovery (RFC 9728, RFC 8414), dynamic registration (RFC 7591), PKCE, resource indicators (RFC 8707)
// and the issuer in answers (RFC 9207).
//
// All processes of a user share one login per server and address. A process that finds an expired token renews it under
// a lock of the server, after it has read the stored login again, so that each refresh token is used once. Nothing here
// opens a browser.
package mcpauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/auth"

	stored "github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Logins are the logins of a user at MCP servers. Safe for concurrent use, also by processes.
type Logins struct {
	store *stored.Store
	dir   string // of the data, which has the locks

	mu    sync.Mutex // guards flows
	flows []*flow    // that wait for a person, oldest first; one for each server
}

// New returns the logins of a data directory. getenv is that of auth.New.
func New(dataDir string, getenv func(string) string) *Logins {
	return &Logins{store: stored.NewMCP(dataDir, getenv), dir: dataDir}
}

// settings are the configuration of a server's logins.
type settings struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	Scope        string `json:"scope"`
	CallbackPort int    `json:"callbackPort"`
	RedirectURI  string `json:"redirectUri"`
}

// defaultPort and callbackPath are OpenCode's, so that clients registered for it work.
const (
	defaultPort  = 19876
	callbackPath = "/mcp/oauth/callback"
)

// readSettings returns the configuration of logins at a server; ok is false if it forbids them.
func readSettings(c config.MCP) (out settings, ok bool, err error) {
	switch {
	case c.Type != "remote" || string(c.OAuth) == "false":
		return out, false, nil
	case len(c.OAuth) == 0 || c.OAuth.Kind() != '{':
		return out, true, nil
	}
	if err := json.Unmarshal(c.OAuth, &out); err != nil {
		return out, false, errors.New("its oauth settings are invalid")
	}
	return out, true, nil
}

// redirectURI returns where the server sends a person back to.
func (s settings) redirectURI() string {
	if s.RedirectURI != "" {
		return s.RedirectURI
	}
	host := net.JoinHostPort("127.0.0.1", strconv.Itoa(cmp.Or(s.CallbackPort, defaultPort)))
	return "http://" + host + callbackPath
}

// details are what is stored of a login besides its secrets.
type details struct {
	URL         string `json:"url"` // of the MCP server
	Resource    string `json:"resource"`
	Issuer      string `json:"issuer"`
	Token       string `json:"tokenEndpoint"`
	Revocation  string `json:"revocationEndpoint,omitzero"`
	ClientID    string `json:"clientId"`
	InHeader    bool   `json:"secretInHeader,omitzero"` // how the client secret is sent
	RedirectURI string `json:"redirectUri"`
	Registered  bool   `json:"registered,omitzero"` // by cairn

	Scopes []string `json:"scopes,omitzero"` // that the login asked for
	Wanted []string `json:"wanted,omitzero"` // that the server asked for besides, since
}

// login is a stored login.
type login struct {
	stored.Token
	secret stored.Secret
	details
}

// key returns the name of a stored login: a server with another address has another one.
func key(name string, c config.MCP) string {
	sum := sha256.Sum256([]byte(canonicalURL(c.URL)))
	return name + "@" + hex.EncodeToString(sum[:8])
}

// canonicalURL returns the address of a server without what does not identify it.
func canonicalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Fragment, u.Scheme, u.Host = "", strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	return u.String()
}

// read returns the stored login at a server.
func (l *Logins) read(ctx context.Context, name string, c config.MCP) (out login, ok bool, err error) {
	s, ok, err := l.store.GetMCP(ctx, key(name, c))
	if !ok || err != nil {
		return out, false, err
	}
	if err := json.Unmarshal(s.Details, &out.details); err != nil || out.URL != canonicalURL(c.URL) {
		return login{}, false, nil
	}
	out.Token, out.secret = s.Token, s.ClientSecret
	return out, true, nil
}

func (l *Logins) write(ctx context.Context, name string, c config.MCP, in login) error {
	text, err := json.Marshal(in.details, json.Deterministic(true))
	if err != nil {
		return err
	}
	return l.store.SetMCP(ctx, key(name, c), stored.MCPLogin{Token: in.Token, ClientSecret: in.secret, Details: text})
}

// lockTime bounds the wait for another process that renews a token.
const lockTime = time.Minute

// withLock runs f while no other process changes the login at the server.
func (l *Logins) withLock(ctx context.Context, name string, c config.MCP, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	sum := sha256.Sum256([]byte(key(name, c)))
	return statefile.WithLock(ctx, filepath.Join(l.dir, "mcp-logins", hex.EncodeToString(sum[:8])), f)
}

// HasLogin reports whether a login at the server is stored, which may have expired.
func (l *Logins) HasLogin(ctx context.Context, name string, c config.MCP) bool {
	found, ok, err := l.read(ctx, name, c)
	return err == nil && ok && (!found.Access.IsZero() || !found.Refresh.IsZero())
}

// Logout revokes the tokens of a server where it offers that, and deletes the stored login. It reports whether there
// was one; problem says why a token could not be revoked.
func (l *Logins) Logout(ctx context.Context, name string, c config.MCP) (had bool, problem, err error) {
	err = l.withLock(ctx, name, c, func() error {
		found, ok, err := l.read(ctx, name, c)
		if err == nil && ok {
			problem = revoke(ctx, found)
		}
		had, err = l.store.Remove(ctx, key(name, c))
		return err
	})
	return had, problem, err
}

// revoke revokes the tokens of a login (RFC 7009).
func revoke(ctx context.Context, l login) error {
	if l.Revocation == "" {
		return errors.New("the server offers no revocation")
	}
	var failures []error
	for hint, token := range map[string]stored.Secret{"refresh_token": l.Refresh, "access_token": l.Access} {
		if !token.IsZero() {
			form := url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}}
			failures = append(failures, postForm(ctx, l, l.Revocation, form, nil))
		}
	}
	return errors.Join(failures...)
}

// Handler returns what authorises requests to a server; nil if its configuration forbids logins.
func (l *Logins) Handler(name string, c config.MCP) auth.OAuthHandler {
	s, ok, err := readSettings(c)
	if !ok || err != nil {
		return nil
	}
	return &handler{logins: l, name: name, config: c, settings: s}
}

// Stamp returns a text that changes when the stored logins change, also by another process.
func (l *Logins) Stamp() string {
	info, err := os.Stat(l.store.Path())
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
