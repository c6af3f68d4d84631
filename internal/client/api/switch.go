package api

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/session"
)

// SwitchAgent selects the agent of the session's next turn.
func (c *Client) SwitchAgent(ctx context.Context, id session.ID, agent string) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "agent"), AgentRequest{agent})
}

// SwitchModel selects the model of the session's next turn.
func (c *Client) SwitchModel(ctx context.Context, id session.ID, ref session.ModelRef) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "model"), ModelRequest{&ref})
}

// AddMCP adds an MCP server to the client's location, until the process that owns the store ends. One of the name is
// replaced; the same one goes on.
func (c *Client) AddMCP(ctx context.Context, name string, config MCPConfig) error {
	return c.change(ctx, http.MethodPut, apiPath("experimental", "mcp", name), map[string]MCPConfig{"config": config})
}
