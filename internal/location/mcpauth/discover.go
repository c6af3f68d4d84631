package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadata is what a server says about its authorization.
type metadata struct {
	resource string // its identifier
	scopes   []string
	server   *oauthex.AuthServerMeta
}

// readChallenges asks the server without a token and returns how it wants to be asked.
func readChallenges(ctx context.Context, client *http.Client, server string) ([]oauthex.Challenge, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, nil //nolint:nilerr // the well-known addresses are tried without it
	}
	return challenges, nil
}

// discover finds the authorization server of an MCP server (RFC 9728) and what it offers (RFC 8414). Servers of the
// specification of 2025-03-26 are their own authorization servers, whose metadata may be missing; one that the server
// names must have them, which say that it supports PKCE.
func discover(
	ctx context.Context, client *http.Client, server string, challenges []oauthex.Challenge,
) (out metadata, err error) {
	out.resource = canonicalURL(server)
	root, err := url.Parse(server)
	if err != nil {
		return out, err
	}
	issuer := root.Scheme + "://" + root.Host
	// Ask at the address of the challenge, at that of the server's path, and at the root.
	isOwn, failures := true, []error(nil) // isOwn: nothing names another authorization server
	for _, at := range listResourceMetadata(root, findParam(challenges, "resource_metadata")) {
		found, err := oauthex.GetProtectedResourceMetadata(ctx, at.url, at.resource, client)
		if err != nil || found == nil {
			failures = append(failures, err)
			continue
		}
		if len(found.AuthorizationServers) == 0 {
			return out, errors.New("it names no authorization server")
		}
		issuer, out.resource, out.scopes = found.AuthorizationServers[0], found.Resource, found.ScopesSupported
		isOwn, failures = false, nil
		break
	}
	if scope := findParam(challenges, "scope"); scope != "" {
		out.scopes = strings.Fields(scope)
	}
	// Read what the authorization server offers; without metadata it has the paths of the older specification.
	out.server, err = auth.GetAuthServerMetadata(ctx, issuer, client)
	if err != nil && isOwn {
		out.server, err = readOwnMetadata(ctx, client, issuer)
	}
	if err != nil {
		return out, fmt.Errorf("read the metadata of its authorization server: %w", errors.Join(append(failures, err)...))
	}
	if out.server == nil && !isOwn {
		return out, fmt.Errorf("its authorization server %s has no metadata", cutLine(issuer))
	}
	if out.server == nil {
		base := strings.TrimSuffix(issuer, "/")
		out.server = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token",
			RegistrationEndpoint: base + "/register",
		}
	}
	return out, nil
}

// readOwnMetadata reads the metadata of an MCP server that is its own authorization server, as the specification of
// 2025-03-26 has it. The issuer may have a path there, which cannot be known before.
func readOwnMetadata(ctx context.Context, client *http.Client, root string) (*oauthex.AuthServerMeta, error) {
	at := root + "/.well-known/oauth-authorization-server"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var named struct {
		Issuer string `json:"issuer"`
	}
	if err := json.UnmarshalRead(resp.Body, &named); err != nil {
		return nil, errors.New("its metadata is invalid")
	}
	if !strings.HasPrefix(named.Issuer+"/", root+"/") {
		return nil, fmt.Errorf("its metadata names another server, %s", cutLine(named.Issuer))
	}
	return oauthex.GetAuthServerMeta(ctx, at, named.Issuer, client)
}

// resourceMetadata is where the metadata of a resource may be.
type resourceMetadata struct{ url, resource string }

func listResourceMetadata(server *url.URL, named string) (out []resourceMetadata) {
	const path = "/.well-known/oauth-protected-resource"
	root := server.Scheme + "://" + server.Host
	if named != "" {
		out = append(out, resourceMetadata{named, server.String()})
	}
	if p := strings.Trim(server.Path, "/"); p != "" {
		out = append(out, resourceMetadata{root + path + "/" + p, server.String()})
	}
	return append(out, resourceMetadata{root + path, root})
}
