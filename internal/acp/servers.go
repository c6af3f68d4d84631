package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// addedServers are the MCP servers of a client that were added, by directory and name.
type addedServers map[string]map[string]api.MCPConfig

// Bounds of the MCP servers of a client.
const (
	maxServers = 100 // of one request, as the server of the API has it for a directory
	// serverWait bounds how long a session waits for its servers to connect. They go on after that.
	serverWait = 10 * time.Second
)

// addServers adds the client's MCP servers to a directory, and waits for them. One that is there goes on; one that
// cannot be reached is added, too: the model is told so.
func (a *agent) addServers(ctx context.Context, directory string, servers []v2.MCPServer) error {
	if len(servers) > maxServers {
		return rpcErrorf(codeInvalidParams, "there are %d MCP servers, at most %d are possible", len(servers), maxServers)
	}
	configs := make([]api.MCPConfig, len(servers))
	for i, server := range servers {
		var err error
		if configs[i], err = newServerConfig(server); err != nil {
			return err
		}
	}
	// Add them beside each other: one that does not answer holds up no other.
	ctx, cancel := context.WithTimeoutCause(ctx, serverWait, errConnecting)
	defer cancel()
	failures := make([]error, len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() { failures[i] = a.addServer(ctx, directory, server.Name, configs[i]) })
	}
	group.Wait()
	return cmp.Or(failures...)
}

// errConnecting is why a request ends whose server has not connected in time.
var errConnecting = errors.New("the MCP server is still connecting")

func (a *agent) addServer(ctx context.Context, directory, name string, config api.MCPConfig) error {
	err := at(a.options.Client, directory).AddMCP(ctx, name, config)
	switch {
	case errors.Is(err, &session.Error{Code: session.CodeInvalid}):
		return rpcErrorf(codeInvalidParams, "the MCP server %s: %v", name, err)
	case err != nil && !errors.Is(context.Cause(ctx), errConnecting):
		return fmt.Errorf("add the MCP server %s: %w", name, err)
	}
	a.noteServer(directory, name, config)
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

// sendServerProblems names those of the client's MCP servers that are not connected: their tools are missing. A server
// is named again only when its state has changed.
func (s *liveSession) sendServerProblems(ctx context.Context) {
	if !s.hasServers() {
		return
	}
	list, err := s.client.MCPServers(ctx)
	if err != nil {
		return
	}
	for _, n := range s.noteServerStates(list.Data) {
		s.send(n)
	}
}

func (s *liveSession) hasServers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.servers) > 0
}

// noteServerStates notes the states of the client's servers and returns a notice for each that has another state now and
// is not connected.
func (s *liveSession) noteServerStates(list []api.MCPServer) (notices []update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range list {
		isOwn := slices.ContainsFunc(s.servers, func(own v2.MCPServer) bool { return own.Name == known.Name })
		if !isOwn || s.serverStates[known.Name] == known.Status.Status {
			continue
		}
		s.serverStates[known.Name] = known.Status.Status
		switch state := known.Status.Status; state {
		case "connected":
		case "pending":
			notices = append(notices, notice{
				"the MCP server " + known.Name + " is still starting", "Its tools are missing until it is connected.",
			})
		default:
			notices = append(notices, notice{
				"the MCP server " + known.Name + " does not work, its tools are missing", cmp.Or(known.Status.Error, state),
			})
		}
	}
	return notices
}

// setServers replaces the client's MCP servers. All that are not connected are named again.
func (s *liveSession) setServers(servers []v2.MCPServer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers, s.serverStates = servers, map[string]string{}
}

// followServers names servers whose state changes, until ctx ends.
func (s *liveSession) followServers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.serverChanges:
			s.sendServerProblems(ctx)
		}
	}
}

// noteServerChange notes that the state of an MCP server has changed. It does not wait.
func (s *liveSession) noteServerChange() {
	select {
	case s.serverChanges <- struct{}{}:
	default: // a change is noted already
	}
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
