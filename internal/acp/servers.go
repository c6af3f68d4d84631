package acp

import (
	"context"
	"errors"
	"fmt"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// addServers adds the client's MCP servers to a directory, those that are not there yet. One that cannot be reached is
// added, too: the model is told so.
func (a *agent) addServers(ctx context.Context, directory string, servers []v2.MCPServer) error {
	for _, server := range servers {
		config, err := newServerConfig(server)
		if err != nil {
			return err
		}
		// The same definition again would start the server anew.
		key, value := directory+"\x00"+server.Name, fmt.Sprint(config.MCPSource)
		a.mu.Lock()
		isKnown := a.servers[key] == value
		a.mu.Unlock()
		if isKnown {
			continue
		}
		err = at(a.options.Client, directory).AddMCP(ctx, server.Name, config)
		if errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			return rpcErrorf(codeInvalidParams, "the MCP server %s: %v", server.Name, err)
		}
		if err != nil {
			return fmt.Errorf("add the MCP server %s: %w", server.Name, err)
		}
		a.mu.Lock()
		a.servers[key] = value
		a.mu.Unlock()
	}
	return nil
}

// newServerConfig returns the configuration of a server: a program, or an address.
func newServerConfig(server v2.MCPServer) (config api.MCPConfig, err error) {
	switch {
	case server.Name == "":
		return config, rpcErrorf(codeInvalidParams, "an MCP server has no name")
	case server.URL != "":
		config.MCPSource = api.MCPSource{Type: "remote", URL: server.URL, Headers: map[string]string{}}
		for _, h := range server.Headers {
			config.Headers[h.Name] = h.Value
		}
	case server.Command != "":
		config.MCPSource = api.MCPSource{
			Type: "local", Command: append([]string{server.Command}, server.Args...), Environment: map[string]string{},
		}
		for _, v := range server.Env {
			config.Environment[v.Name] = v.Value
		}
	default:
		return config, rpcErrorf(codeInvalidParams, "the MCP server %q has neither a command nor a URL", server.Name)
	}
	return config, nil
}
