package v2

import (
	"context"
	"net/http"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// listMCPOperations are the operations on MCP servers: OpenCode's second contract, and calls by people.
func (d *dependencies) listMCPOperations() []operation.Operation {
	h := mcpHandlers{d}
	const path = "/api/experimental/mcp/{server}"
	return []operation.Operation{
		operation.New("read GET /api/mcp List the MCP servers of a location", "mcp.list", h.list),
		operation.New("read GET /api/mcp/resource List the resources of MCP servers", "mcp.resource.catalog", h.listResources),
		operation.New("admin PUT "+path+" Add an MCP server", "experimental.mcp.add", h.add),
		operation.New("admin DELETE "+path+" Remove an added MCP server", "experimental.mcp.remove", h.remove),
		operation.New("admin POST "+path+"/connect Connect an MCP server", "experimental.mcp.connect", h.connect),
		operation.New("admin POST "+path+"/disconnect Disconnect an MCP server", "experimental.mcp.disconnect", h.disconnect),
		operation.New("admin POST "+path+"/call Call a tool of an MCP server", "experimental.mcp.call", h.call).
			WithStatuses(http.StatusServiceUnavailable),
	}
}

// serverNotice is an event of the kind api.EventServerState: the state of an MCP server of a location, or what it offers, has
// changed.
type serverNotice struct {
	Server string `json:"server"`
}

// NewServerNotice returns the notice that an MCP server of a directory has changed.
func NewServerNotice(directory, server string) eventlog.Notice {
	data, _ := httpio.Encode(serverNotice{server}) // a text can be encoded
	return eventlog.Notice{Kind: api.EventServerState, Directory: directory, Data: data}
}

// NewNote returns the notice with a text for the people who follow a session.
func NewNote(n session.Note) eventlog.Notice {
	data, err := httpio.Encode(n)
	if err != nil { // text that is no UTF-8
		return eventlog.Notice{Kind: session.KindNote, SessionID: n.SessionID}
	}
	return eventlog.Notice{Kind: session.KindNote, SessionID: n.SessionID, Data: data}
}

// mcpIn names an MCP server of a location.
type mcpIn struct {
	Location operation.Location
	Server   string `path:"server"`
}

type mcpHandlers struct{ *dependencies }

// openAll returns the servers of the location, after their first attempts to connect.
func (h mcpHandlers) openAll(ctx context.Context, at session.Location) (*mcp.Set, error) {
	servers, err := h.Locations.Servers(ctx, at)
	if err != nil {
		return nil, err
	}
	servers.AwaitAll(ctx)
	return servers, nil
}

func (h mcpHandlers) list(ctx context.Context, in listIn) (api.AtLocation[[]api.MCPServer], error) {
	return listAt(ctx, h.dependencies, in.Location.Location,
		func(ctx context.Context, at session.Location) ([]api.MCPServer, error) {
			servers, err := h.openAll(ctx, at)
			if err != nil {
				return nil, err
			}
			out := []api.MCPServer{}
			for _, s := range servers.States() {
				one := api.MCPServer{Name: s.Name, Status: showStatus(s, bool(in.All))}
				if in.All {
					addDetails(&one, servers, s)
				}
				out = append(out, one)
			}
			return out, nil
		})
}

// showStatus returns the state in OpenCode's words. With all, a state that it does not have keeps its own.
func showStatus(s mcp.State, all bool) api.MCPStatus {
	switch s.Status {
	case mcp.Connecting:
		return api.MCPStatus{Status: "pending"}
	case mcp.Connected:
		if !all {
			return api.MCPStatus{Status: string(s.Status)}
		}
	case mcp.Disabled:
		return api.MCPStatus{Status: string(s.Status)}
	case mcp.NeedsClientRegistration:
		if !all {
			return api.MCPStatus{Status: string(mcp.NeedsAuth), Error: s.Error}
		}
	case mcp.Untrusted:
		if !all {
			return api.MCPStatus{Status: string(mcp.Failed), Error: s.Error}
		}
	}
	return api.MCPStatus{Status: string(s.Status), Error: s.Error}
}

// addDetails adds what a server offers and where it is.
func addDetails(one *api.MCPServer, servers *mcp.Set, s mcp.State) {
	for _, t := range s.Tools {
		one.Tools = append(one.Tools, api.MCPTool(t))
	}
	for _, c := range servers.Commands() {
		if c.Server == s.Name {
			one.Prompts = append(one.Prompts, c.Name)
		}
	}
	one.Resources = len(s.Resources)
	if c, err := servers.Config(s.Name); err == nil {
		one.Source = showSource(c)
	}
}

// showSource returns where a server comes from: its address without parameters, which may be keys, or its command line
// without what looks like a secret.
func showSource(c config.MCP) string {
	if c.URL != "" {
		return webcache.ShowAddress(c.URL)
	}
	return string(redact.MaskText([]byte(strings.Join(c.Command, " "))))
}

func (h mcpHandlers) listResources(ctx context.Context, in listIn) (out api.AtLocation[api.MCPCatalog], err error) {
	templates := []api.MCPTemplate{}
	at, err := listAt(ctx, h.dependencies, in.Location.Location,
		func(ctx context.Context, at session.Location) ([]api.MCPResource, error) {
			servers, err := h.openAll(ctx, at)
			if err != nil {
				return nil, err
			}
			rows := []api.MCPResource{}
			for _, r := range servers.Resources() {
				rows = append(rows, api.MCPResource{
					Server: r.Server, Name: r.Name, URI: r.URI, Description: r.Description, MimeType: r.MIME,
				})
			}
			found, _ := servers.Templates(ctx, "") // those that cannot be listed are missing, as in OpenCode
			for _, r := range found {
				templates = append(templates, api.MCPTemplate{
					Server: r.Server, Name: r.Name, URITemplate: r.URI, Description: r.Description, MimeType: r.MIME,
				})
			}
			return rows, nil
		})
	out.Location, out.Data = at.Location, api.MCPCatalog{Resources: at.Data, Templates: templates}
	return out, err
}

func (h mcpHandlers) add(ctx context.Context, in struct {
	mcpIn
	Body struct {
		Config api.MCPConfig `json:"config"`
	} `body:"required"`
},
) (operation.None, error) {
	c := in.Body.Config
	servers, err := h.Locations.Servers(ctx, in.Location.Location)
	if err != nil {
		return operation.None{}, err
	}
	enabled := !c.Disabled
	isChanged, err := servers.Add(in.Server, config.MCPSource(c.MCPSource).NewServer(&enabled, c.Timeout.Startup))
	if err == nil && isChanged {
		// The location opened again has permission rules for the server, before its tools are there.
		h.Locations.ForgetLocation(in.Location.Location)
		servers, err = h.Locations.Servers(ctx, in.Location.Location)
	}
	if err == nil {
		servers.Await(ctx, in.Server)
	}
	return operation.None{}, err
}

func (h mcpHandlers) remove(ctx context.Context, in mcpIn) (operation.None, error) {
	servers, err := h.Locations.Servers(ctx, in.Location.Location)
	if err != nil {
		return operation.None{}, err
	}
	if !servers.Remove(in.Server) {
		return operation.None{}, session.NotFound("mcp", in.Server)
	}
	h.Locations.ForgetLocation(in.Location.Location)
	_, err = h.Locations.Servers(ctx, in.Location.Location) // ends it
	return operation.None{}, err
}

func (h mcpHandlers) connect(ctx context.Context, in mcpIn) (operation.None, error) {
	servers, err := h.Locations.Servers(ctx, in.Location.Location)
	if err == nil {
		err = servers.Connect(ctx, in.Server)
	}
	return operation.None{}, err
}

func (h mcpHandlers) disconnect(ctx context.Context, in mcpIn) (operation.None, error) {
	servers, err := h.Locations.Servers(ctx, in.Location.Location)
	if err == nil {
		err = servers.Disconnect(in.Server)
	}
	return operation.None{}, err
}

func (h mcpHandlers) call(ctx context.Context, in struct {
	mcpIn
	Body api.MCPCall `body:"required"`
},
) (out api.Data[api.MCPResult], err error) {
	servers, err := h.Locations.Servers(ctx, in.Location.Location)
	if err != nil {
		return out, err
	}
	if in.Body.Tool == "" {
		return out, session.Errorf(session.CodeInvalid, "the request names no tool").At("tool")
	}
	result, isError, err := servers.Call(ctx, in.Server, in.Body.Tool, in.Body.Input)
	if err != nil {
		return out, err
	}
	for _, c := range result.Content {
		out.Data.Text += c.Text
	}
	out.Data.Value, out.Data.Files, out.Data.IsError = result.Structured, len(result.Attachments), isError
	return out, nil
}
