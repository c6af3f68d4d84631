package v1

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed unimplemented.json
var unimplementedFile []byte

// listUnimplemented are the operations whose capability is not built yet. They answer like an OpenCode that has none of
// it configured (docs/differences.md). The data file has those whose response is constant.
func (d *dependencies) listUnimplemented() []operation.Operation {
	h := unimplementedHandlers{d}
	// Grouped by capability: symbols, workspaces, MCP servers, updates and sharing.
	rows := []operation.Operation{
		operation.New("read GET /find/symbol Search symbols of language servers", "find.symbols", h.findSymbols),
		operation.New("approve POST /experimental/workspace Create a workspace",
			"experimental.workspace.create", h.createWorkspace),
		operation.New("approve POST /experimental/workspace/warp Move a session into or out of a workspace",
			"experimental.workspace.warp", h.warpSession).WithStatuses(http.StatusNotFound),
		operation.New("approve DELETE /experimental/workspace/{id} Remove a workspace",
			"experimental.workspace.remove", h.removeWorkspace),
		operation.New("read GET /mcp List the states of the MCP servers", "mcp.status", h.listMCP),
		operation.New("admin POST /mcp Add an MCP server", "mcp.add", h.addMCP),
		operation.New("admin POST /mcp/{name}/auth Start the login at an MCP server",
			"mcp.auth.start", refuseMCP[mcpIn, never](h)),
		operation.New("admin DELETE /mcp/{name}/auth Delete the login of an MCP server",
			"mcp.auth.remove", refuseMCP[mcpIn, never](h)),
		operation.New("admin POST /mcp/{name}/auth/callback Finish the login at an MCP server",
			"mcp.auth.callback", refuseMCP[mcpCodeIn, mcpStatus](h)),
		operation.New("admin POST /mcp/{name}/auth/authenticate Log in at an MCP server and wait for the result",
			"mcp.auth.authenticate", refuseMCP[mcpIn, mcpStatus](h)),
		operation.New("admin POST /mcp/{name}/connect Connect an MCP server", "mcp.connect", refuseMCP[mcpIn, bool](h)),
		operation.New("admin POST /mcp/{name}/disconnect Disconnect an MCP server",
			"mcp.disconnect", refuseMCP[mcpIn, bool](h)),
		operation.New("admin POST /global/upgrade Update the server program", "global.upgrade", h.refuseUpgrade),
		operation.New("admin POST /session/{sessionID}/share Share a session", "session.share", h.shareSession),
		operation.New("admin DELETE /session/{sessionID}/share End the sharing of a session",
			"session.unshare", sessionHandlers{d}.get),
	}
	for i := range rows {
		rows[i].Unimplemented = true
	}
	return append(rows, operation.NewConstants(unimplementedFile)...)
}

// Request types.
type (
	body[Body any] struct {
		Body Body `body:"optional"`
	}
	symbolQuery struct {
		Query string `query:"query" required:"true"`
	}
	mcpIn struct {
		locationIn

		Name string `path:"name"`
	}
	mcpCodeIn struct {
		mcpIn
		Body opencode.MCPCode `body:"required"`
	}
)

// Bodies.
type (
	upgradeTarget struct {
		Target string `json:"target"`
	}
	workspaceMove struct {
		ID          *string `json:"id,omitzero"` // nil: out of its workspace
		SessionID   *string `json:"sessionID"`
		CopyChanges bool    `json:"copyChanges,omitzero"`
	}
)

// Responses.
type (
	emptyList     []struct{}
	never         struct{} // of an operation that only fails
	upgradeResult struct {
		Success bool   `json:"success"`
		Version string `json:"version,omitzero"`
		Error   string `json:"error,omitzero"`
	}
	mcpStatus struct {
		Status string `json:"status" enum:"connected,disabled,failed,needs_auth,needs_client_registration"`
		Error  string `json:"error,omitzero"`
	}
)

// unimplementedHandlers answers where the response names something of the request.
type unimplementedHandlers struct{ *dependencies }

func (unimplementedHandlers) findSymbols(context.Context, symbolQuery) (emptyList, error) {
	return emptyList{}, nil
}

func (unimplementedHandlers) createWorkspace(_ context.Context, in body[opencode.WorkspaceType]) (never, error) {
	message := "Unknown workspace adapter: " + in.Body.Type
	return never{}, &statusError{http.StatusBadRequest, newNamedError("WorkspaceCreateError", message)}
}

// warpSession moves a session into a workspace, which does not exist, or out of one: no session is in one.
func (unimplementedHandlers) warpSession(_ context.Context, in body[workspaceMove]) (operation.None, error) {
	if in.Body.SessionID == nil {
		return operation.None{}, missingMember("sessionID")
	}
	if in.Body.ID != nil {
		return operation.None{}, session.NotFound("workspace", *in.Body.ID)
	}
	return operation.None{}, nil
}

func (unimplementedHandlers) removeWorkspace(_ context.Context, in struct {
	ID string `path:"id" id:"wrk"`
},
) (never, error) {
	return never{}, session.NotFound("workspace", in.ID)
}

// noMCP is the error of all operations on MCP servers.
const noMCP = "cairn does not connect to MCP servers yet"

// listMCP reports that the configured servers have failed, as OpenCode does for servers that it cannot start.
func (h unimplementedHandlers) listMCP(ctx context.Context, in locationIn) (map[string]mcpStatus, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	var servers map[string]struct {
		Enabled  *bool `json:"enabled"`
		Disabled bool  `json:"disabled"`
	}
	_ = json.Unmarshal(l.settings()["mcp"], &servers) // absent without servers
	out := map[string]mcpStatus{}
	for name, s := range servers {
		out[name] = mcpStatus{"failed", noMCP}
		if s.Disabled || s.Enabled != nil && !*s.Enabled {
			out[name] = mcpStatus{Status: "disabled"}
		}
	}
	return out, nil
}

// addMCP reports the failure of the added server, beside those of the configured ones.
func (h unimplementedHandlers) addMCP(ctx context.Context, in struct {
	locationIn
	Body opencode.MCPServer `body:"optional"`
},
) (map[string]mcpStatus, error) {
	if err := requireMembers("name", in.Body.Name, "config.type", in.Body.Config.Type); err != nil {
		return nil, err
	}
	out, err := h.listMCP(ctx, in.locationIn)
	if err == nil {
		out[in.Body.Name] = mcpStatus{"failed", noMCP}
	}
	return out, err
}

// Validate requires the members that OpenCode requires.
func (b *upgradeTarget) Validate() error { return requireMembers("target", b.Target) }

// refuseUpgrade validates the request like OpenCode and answers that cairn does not update itself.
func (unimplementedHandlers) refuseUpgrade(_ context.Context, _ struct {
	Body upgradeTarget `body:"required"`
},
) (upgradeResult, error) {
	return upgradeResult{Error: "cairn does not update itself; install the new version as you installed this one"}, nil
}

// serverName returns the name of the MCP server of a request.
func (in mcpIn) serverName() string { return in.Name }

// serverLocation returns the location of a request about an MCP server.
func (in mcpIn) serverLocation() locationIn { return in.locationIn }

// refuseMCP refuses operations on MCP servers: those that are not configured are not found, the others do not work.
func refuseMCP[In interface {
	serverName() string
	serverLocation() locationIn
}, Out any](h unimplementedHandlers) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		servers, err := h.listMCP(ctx, in.serverLocation())
		if _, ok := servers[in.serverName()]; err == nil && !ok {
			err = session.NotFound("mcp", in.serverName())
		} else if err == nil {
			err = httpio.NewUnimplemented(noMCP)
		}
		return out, err
	}
}

func (h unimplementedHandlers) shareSession(ctx context.Context, in sessionIn) (opencode.Session, error) {
	return h.refuseRequest(ctx, in.SessionID, "sharing is disabled: cairn does not share sessions")
}

// refuseRequest refuses an operation on a session that exists.
func (h unimplementedHandlers) refuseRequest(
	ctx context.Context,
	id session.ID,
	message string,
) (s opencode.Session, err error) {
	if _, err := store.ReadSession(ctx, h.Store, id); err != nil {
		return s, err
	}
	return s, httpio.NewUnimplemented(message)
}
