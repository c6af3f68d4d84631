package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// addedServers are the MCP servers of a client that were added, by the resolved path of the directory, and by name.
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
		a.noteServer(resolvePath(directory), server.Name, config)
	}
	return nil
}

// noteServer notes a server that was added to the directory of a resolved path.
func (a *agent) noteServer(path, name string, config api.MCPConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.servers[path] == nil {
		a.servers[path] = map[string]api.MCPConfig{}
	}
	a.servers[path][name] = config
}

// listServers returns the servers that were added to the directory of a resolved path.
func (a *agent) listServers(path string) map[string]api.MCPConfig {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.servers[path])
}

// resolvePath returns the path without links, or cleaned if it cannot be resolved.
func resolvePath(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// restoreServers adds the client's MCP servers of the session's directory after the connection was lost: the process that
// has them may have ended, and another one owns the store.
func (s *liveSession) restoreServers(ctx context.Context) {
	for name, config := range s.agent.listServers(resolvePath(s.directory)) {
		if err := s.client.AddMCP(ctx, name, config); err != nil && ctx.Err() == nil {
			s.send(notice{"the MCP server " + name + " is missing", err.Error()})
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
