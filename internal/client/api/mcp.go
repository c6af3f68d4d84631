package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"
)

// MCPServer is an MCP server of a location. Tools and the members after it are cairn's own, for clients that ask for
// all fields.
type MCPServer struct {
	Name      string    `json:"name"`
	Status    MCPStatus `json:"status"`
	Tools     []MCPTool `json:"tools,omitzero"`
	Prompts   []string  `json:"prompts,omitzero"` // names of commands
	Resources int       `json:"resources,omitzero"`
	// Source is the command line or the address.
	Source string `json:"source,omitzero"`
}

// MCPStatus is the state of an MCP server: connected, pending, disabled, failed or needs_auth, or for all fields also
// needs_client_registration and untrusted.
type MCPStatus struct {
	Status string `json:"status"`
	Error  string `json:"error,omitzero"`
}

// EventServerState is the kind of the notice that the state of an MCP server, or what it offers, has changed.
const EventServerState = "mcp.status.changed"

// MCPTool is a tool of an MCP server. What the server says of its effects proves nothing.
type MCPTool struct {
	Name        string `json:"name"` // for models
	Remote      string `json:"remote"`
	Description string `json:"description,omitzero"`
	ReadOnly    bool   `json:"readOnlyHint,omitzero"`
	Destructive bool   `json:"destructiveHint,omitzero"`
}

// MCPCatalog lists the resources of the MCP servers of a location.
type MCPCatalog struct {
	Resources []MCPResource `json:"resources"`
	Templates []MCPTemplate `json:"templates"`
}

// MCPResource is a resource of an MCP server.
type MCPResource struct {
	Server      string `json:"server"`
	Name        string `json:"name"`
	URI         string `json:"uri"`
	Description string `json:"description,omitzero"`
	MimeType    string `json:"mimeType,omitzero"`
}

// MCPTemplate is a template of resource URIs.
type MCPTemplate struct {
	Server      string `json:"server"`
	Name        string `json:"name"`
	URITemplate string `json:"uriTemplate"`
	Description string `json:"description,omitzero"`
	MimeType    string `json:"mimeType,omitzero"`
}

// MCPConfig is the configuration of an MCP server, in the spellings of OpenCode's second contract.
type MCPConfig struct {
	MCPSource
	Disabled bool       `json:"disabled,omitzero"`
	Codemode bool       `json:"codemode,omitzero"` // accepted and ignored
	Timeout  MCPTimeout `json:"timeout,omitzero"`
	Protocol string     `json:"protocol,omitzero"` // accepted and ignored: the newest that both know is spoken
}

// MCPSource says which server is meant. It has the fields of the source that cairn configures.
type MCPSource struct {
	Type        string            `json:"type" enum:"local,remote"`
	Command     []string          `json:"command,omitzero"`
	Cwd         string            `json:"cwd,omitzero"`
	Environment map[string]string `json:"environment,omitzero"`
	URL         string            `json:"url,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	OAuth       jsontext.Value    `json:"oauth,omitzero"`
}

// MCPTimeout bounds the phases of an MCP server, in milliseconds; 0 is the default.
type MCPTimeout struct {
	Startup   int64 `json:"startup,omitzero"`
	Catalog   int64 `json:"catalog,omitzero"`
	Execution int64 `json:"execution,omitzero"`
}

// MCPCall is a call of a tool by a person.
type MCPCall struct {
	Tool  string         `json:"tool"` // the server's name of it
	Input jsontext.Value `json:"input"`
}

// MCPResult is the result of such a call.
type MCPResult struct {
	Text    string         `json:"text"`
	Value   jsontext.Value `json:"value,omitzero"` // structured content
	Files   int            `json:"files,omitzero"` // images and documents, which are not shown
	IsError bool           `json:"isError,omitzero"`
}

// MCPResources returns the resources of the MCP servers of the client's location, after their first attempts to connect.
func (c *Client) MCPResources(ctx context.Context) (AtLocation[MCPCatalog], error) {
	return get[AtLocation[MCPCatalog]](ctx, c, apiPath("mcp", "resource"), nil)
}

// MCPServers returns the MCP servers of the client's location, after their first attempts to connect.
func (c *Client) MCPServers(ctx context.Context) (AtLocation[[]MCPServer], error) {
	return get[AtLocation[[]MCPServer]](ctx, c, apiPath("mcp"), url.Values{"all": {"1"}})
}

// ConnectMCP connects an MCP server of the client's location, or ends its connection.
func (c *Client) ConnectMCP(ctx context.Context, name string, connect bool) error {
	action := "disconnect"
	if connect {
		action = "connect"
	}
	return c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("experimental", "mcp", name, action)})
}

// CallMCP calls a tool of an MCP server of the client's location.
func (c *Client) CallMCP(ctx context.Context, name string, r MCPCall) (MCPResult, error) {
	var out Data[MCPResult]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("experimental", "mcp", name, "call"), in: r, out: &out})
	return out.Data, err
}
