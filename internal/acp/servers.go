package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// addedServers are the MCP servers of a client that were added, by directory and name.
type addedServers map[string]map[string]api.MCPConfig

// addServers adds the client's MCP servers to a directory. One that is there goes on; one that cannot be reached is
// added, too: the model is told so.
func (a *agent) addServers(ctx context.Context, directory string, servers []v2.MCPServer) error {
	for _, server := range servers {
		config, err := newServerConfig(server)
		if err != nil {
			return err
		}
		err = at(a.options.Client, directory).AddMCP(ctx, server.Name, config)
		if errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			return rpcErrorf(codeInvalidParams, "the MCP server %s: %v", server.Name, err)
		}
		if err != nil {
			return fmt.Errorf("add the MCP server %s: %w", server.Name, err)
		}
		a.noteServer(directory, server.Name, config)
	}
	return nil
}

// noteServer notes a server that was added.
func (a *agent) noteServer(directory, name string, config api.MCPConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.servers[directory] == nil {
		a.servers[directory] = map[string]api.MCPConfig{}
	}
	a.servers[directory][name] = config
}

// listServers returns a copy of the servers that were added.
func (a *agent) listServers() addedServers {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := maps.Clone(a.servers)
	for directory, servers := range out {
		out[directory] = maps.Clone(servers)
	}
	return out
}

// restoreServers adds the client's MCP servers again: the process that had them may have ended, and another one owns the
// store. A stream that is restored, or a new connection, shows that; the one does not always come with the other.
func (a *agent) restoreServers(ctx context.Context) {
	for directory, servers := range a.listServers() {
		for name, config := range servers {
			_ = at(a.options.Client, directory).AddMCP(ctx, name, config) // a connection that is lost is followed by another
		}
	}
}

// followConnections restores the servers after each new connection until ctx ends.
func (a *agent) followConnections(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.options.Reconnected:
			a.restoreServers(ctx)
		}
	}
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
