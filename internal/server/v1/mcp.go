package v1

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// listMCPOperations are the operations on MCP servers.
func (d *dependencies) listMCPOperations() []operation.Operation {
	h := mcpHandlers{d}
	return []operation.Operation{
		operation.New("read GET /mcp List the states of the MCP servers", "mcp.status", h.listMCP),
		operation.New("admin POST /mcp Add an MCP server", "mcp.add", h.addMCP),
		operation.New("admin POST /mcp/{name}/connect Connect an MCP server", "mcp.connect", h.connectMCP).
			WithStatuses(http.StatusNotFound),
		operation.New("admin POST /mcp/{name}/disconnect Disconnect an MCP server", "mcp.disconnect", h.disconnectMCP).
			WithStatuses(http.StatusNotFound),
		operation.New("admin POST /mcp/{name}/auth Start the login at an MCP server", "mcp.auth.start", h.startLogin).
			WithStatuses(http.StatusNotFound),
		operation.New("admin DELETE /mcp/{name}/auth Delete the login of an MCP server", "mcp.auth.remove", h.removeLogin).
			WithStatuses(http.StatusNotFound),
		operation.New("admin POST /mcp/{name}/auth/callback Finish the login at an MCP server",
			"mcp.auth.callback", h.finishLogin).WithStatuses(http.StatusNotFound),
		operation.New("admin POST /mcp/{name}/auth/authenticate Log in at an MCP server and wait for the result",
			"mcp.auth.authenticate", h.refuseLogin).WithStatuses(http.StatusNotFound),
		operation.New("read GET /experimental/resource List the resources of MCP servers",
			"experimental.resource.list", h.listResources),
	}
}

// Request types.
type mcpIn struct {
	locationIn

	Name string `path:"name"`
}

type mcpCodeIn struct {
	mcpIn
	Body opencode.MCPCode `body:"required"`
}

// Responses.
type (
	loginStart struct {
		AuthorizationURL string `json:"authorizationUrl"`
		OAuthState       string `json:"oauthState"`
	}
	loginError struct {
		Error string `json:"error"`
	}
	loginRemoved struct {
		Success bool `json:"success"`
	}
	mcpStatus struct {
		Status string `json:"status" enum:"connected,disabled,failed,needs_auth,needs_client_registration"`
		Error  string `json:"error,omitzero"`
	}
	mcpResource struct {
		Name        string `json:"name"`
		URI         string `json:"uri"`
		Description string `json:"description,omitzero"`
		MimeType    string `json:"mimeType,omitzero"`
		Client      string `json:"client"`
	}
)

type mcpHandlers struct{ *dependencies }

// openServers returns the MCP servers of the location, after their first attempts to connect.
func (h mcpHandlers) openServers(ctx context.Context, in locationIn) (*mcp.Set, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	l.MCP.AwaitAll(ctx)
	return l.MCP, nil
}

// findServers returns the MCP servers of the location as they are.
func (h mcpHandlers) findServers(ctx context.Context, in locationIn) (*mcp.Set, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	return l.MCP, nil
}

func (h mcpHandlers) listMCP(ctx context.Context, in locationIn) (map[string]mcpStatus, error) {
	servers, err := h.openServers(ctx, in)
	if err != nil {
		return nil, err
	}
	return showStates(servers), nil
}

// showStates returns the states in OpenCode's words. One that it does not have is a failure with its reason.
func showStates(servers *mcp.Set) map[string]mcpStatus {
	out := map[string]mcpStatus{}
	for _, s := range servers.States() {
		switch s.Status {
		case mcp.Connected, mcp.Disabled, mcp.NeedsAuth:
			out[s.Name] = mcpStatus{Status: string(s.Status)}
		case mcp.NeedsClientRegistration:
			out[s.Name] = mcpStatus{string(s.Status), s.Error}
		case mcp.Connecting:
			out[s.Name] = mcpStatus{string(mcp.Failed), "it is being connected"}
		default:
			out[s.Name] = mcpStatus{string(mcp.Failed), cmp.Or(s.Error, string(s.Status))}
		}
	}
	return out
}

func (h mcpHandlers) addMCP(ctx context.Context, in struct {
	locationIn
	Body opencode.MCPServer `body:"optional"`
},
) (map[string]mcpStatus, error) {
	c := in.Body.Config
	if err := requireMembers("name", in.Body.Name, "config.type", c.Type); err != nil {
		return nil, err
	}
	servers, err := h.findServers(ctx, in.locationIn)
	if err != nil {
		return nil, err
	}
	isChanged, err := servers.Add(in.Body.Name, c.NewServer(c.Enabled, c.Timeout))
	if err == nil && isChanged {
		// The location opened again has permission rules for the server, before its tools are there.
		h.Backend.ForgetLocation(in.Location.Location)
		servers, err = h.findServers(ctx, in.locationIn)
	}
	if err != nil {
		return nil, err
	}
	servers.Await(ctx, in.Body.Name)
	return showStates(servers), nil
}

func (h mcpHandlers) connectMCP(ctx context.Context, in mcpIn) (bool, error) {
	servers, err := h.findServers(ctx, in.locationIn)
	if err != nil {
		return false, err
	}
	err = servers.Connect(ctx, in.Name)
	return err == nil, err
}

func (h mcpHandlers) disconnectMCP(ctx context.Context, in mcpIn) (bool, error) {
	servers, err := h.findServers(ctx, in.locationIn)
	if err != nil {
		return false, err
	}
	err = servers.Disconnect(in.Name)
	return err == nil, err
}

func (h mcpHandlers) listResources(ctx context.Context, in locationIn) (map[string]mcpResource, error) {
	servers, err := h.openServers(ctx, in)
	if err != nil {
		return nil, err
	}
	out := map[string]mcpResource{}
	for _, r := range servers.Resources() {
		out[r.Server+":"+r.URI] = mcpResource{r.Name, r.URI, r.Description, r.MIME, r.Server}
	}
	return out, nil
}

// openLogin returns the location and the configuration of a server that may have a login, or why it has none.
func (h mcpHandlers) openLogin(ctx context.Context, in mcpIn) (*Location, config.MCP, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, config.MCP{}, err
	}
	c, err := l.MCP.Config(in.Name)
	switch {
	case err != nil:
		return nil, c, err
	case c.Type != "remote" || string(c.OAuth) == "false":
		err := loginError{"MCP server " + in.Name + " does not support OAuth"}
		return nil, c, &statusError{http.StatusBadRequest, err}
	}
	return l, c, nil
}

// startLogin begins a login: the client opens the page and calls finishLogin with the code.
func (h mcpHandlers) startLogin(ctx context.Context, in mcpIn) (out loginStart, err error) {
	l, c, err := h.openLogin(ctx, in)
	if err != nil {
		return out, err
	}
	flow, err := l.Logins.Start(ctx, in.Name, c)
	if err != nil {
		return out, loginFailure(err)
	}
	return loginStart{flow.URL, flow.State}, nil
}

// loginFailure returns OpenCode's form of an error of a login; other errors stay as they are.
func loginFailure(err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return &statusError{http.StatusBadRequest, loginError{e.Message}}
	}
	return err
}

func (h mcpHandlers) finishLogin(ctx context.Context, in mcpCodeIn) (out mcpStatus, err error) {
	if err := requireMembers("code", in.Body.Code); err != nil {
		return out, err
	}
	l, c, err := h.openLogin(ctx, in.mcpIn)
	if err != nil {
		return out, err
	}
	if err := l.Logins.Finish(ctx, in.Name, c, in.Body.Code); err != nil {
		return out, loginFailure(err)
	}
	err = l.MCP.Connect(ctx, in.Name)
	return showStates(l.MCP)[in.Name], err
}

// refuseLogin refuses to log in by itself: the server has no browser to open. The client that starts a login shows the
// page, or cairn mcp auth does.
func (h mcpHandlers) refuseLogin(ctx context.Context, in mcpIn) (out mcpStatus, err error) {
	if _, _, err := h.openLogin(ctx, in); err != nil {
		return out, err
	}
	const text = "cairn opens no browser; log in with: cairn mcp auth %s"
	return out, loginFailure(session.Errorf(session.CodeInvalid, text, in.Name))
}

// removeLogin deletes the login of a server; without one there is nothing to delete.
func (h mcpHandlers) removeLogin(ctx context.Context, in mcpIn) (loginRemoved, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return loginRemoved{}, err
	}
	c, err := l.MCP.Config(in.Name)
	if err != nil {
		return loginRemoved{}, err
	}
	if c.Type == "remote" {
		if _, _, err := l.Logins.Logout(ctx, in.Name, c); err != nil {
			return loginRemoved{}, err
		}
	}
	return loginRemoved{true}, nil
}

// AnnounceServer tells the streams of a directory that an MCP server, or what it offers, has changed.
func (d *dependencies) AnnounceServer(directory, server string) {
	d.notices.Send(notice{directory: directory, kind: kindTools, properties: ofTools{server}})
}
