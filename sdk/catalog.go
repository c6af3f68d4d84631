package sdk

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Model is a model that can be used in the client's directory.
type Model struct {
	ID            string // as SessionOptions.Model takes it: "provider/model"
	Name          string // for people
	ContextWindow int64  // tokens; 0 is unknown
	Variants      []string
}

// Models returns the models that can be used: those of providers with credentials, and those of the server itself.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var list api.AtLocation[[]api.Model]
	err := c.call(ctx, func(ctx context.Context) (err error) { list, err = c.api.Models(ctx); return err })
	var out []Model
	for _, m := range list.Data {
		one := Model{ID: m.Ref().String(), Name: m.Name, ContextWindow: m.Limit.Context}
		for _, v := range m.Variants {
			one.Variants = append(one.Variants, v.ID)
		}
		out = append(out, one)
	}
	return out, err
}

// Agent is an agent that a session can have.
type Agent struct {
	Name        string
	Description string
}

// Agents returns the agents that a session can have. Those for subagents only are left out.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	var list api.AtLocation[[]session.Agent]
	err := c.call(ctx, func(ctx context.Context) (err error) { list, err = c.api.Agents(ctx); return err })
	var out []Agent
	for _, a := range list.Data {
		if a.IsSelectable() {
			out = append(out, Agent{Name: a.ID, Description: a.Description})
		}
	}
	return out, err
}
