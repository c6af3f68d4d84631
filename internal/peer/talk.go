package peer

import (
	"context"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Message is one of a session's, with its parts.
type Message struct {
	Info  MessageInfo      `json:"info"`
	Parts []jsontext.Value `json:"parts"`
}

// MessageInfo is what counts here of a message.
type MessageInfo struct {
	ID        string         `json:"id"`
	SessionID string         `json:"sessionID"`
	Role      string         `json:"role"`
	Error     jsontext.Value `json:"error"`
}

// Enquiry is a request for answers.
type Enquiry struct {
	ID        string             `json:"id"`
	SessionID string             `json:"sessionID"`
	Questions []session.Question `json:"questions"`
}

// Status is what a session is at: busy, retry or idle.
type Status struct {
	Type    string `json:"type"`
	Message string `json:"message"` // why it is tried again
}

// Named is a command, or anything else that has a name.
type Named struct {
	Name string `json:"name"`
}

// Provider is a provider with its models, by their ids.
type Provider struct {
	ID     string                    `json:"id"`
	Models map[string]jsontext.Value `json:"models"`
}

// Start sends a message, and returns when it was taken. What comes of it is told by events.
func (c *Client) Start(ctx context.Context, id string, p Prompt) error {
	return c.Post(ctx, of(id)+"/prompt_async", p, nil)
}

// Messages returns the newest messages of a session, oldest first.
func (c *Client) Messages(ctx context.Context, id string, limit int) (all []Message, err error) {
	return all, c.Get(ctx, of(id)+"/message", url.Values{"limit": {strconv.Itoa(limit)}}, &all)
}

// Children lists the sessions directly below a session.
func (c *Client) Children(ctx context.Context, id string) (all []Session, err error) {
	return all, c.Get(ctx, of(id)+"/children", nil, &all)
}

// Statuses tells what the sessions of the client's directory are at, by their ids. One that is not there is idle.
func (c *Client) Statuses(ctx context.Context) (all map[string]Status, err error) {
	return all, c.Get(ctx, "/session/status", nil, &all)
}

// Asks lists the requests for a permission that wait.
func (c *Client) Asks(ctx context.Context) (all []Ask, err error) {
	return all, c.Get(ctx, "/permission", nil, &all)
}

// Enquiries lists the requests for answers that wait.
func (c *Client) Enquiries(ctx context.Context) (all []Enquiry, err error) {
	return all, c.Get(ctx, "/question", nil, &all)
}

// Answer answers a request for answers: a list for each of its questions.
func (c *Client) Answer(ctx context.Context, request string, answers [][]string) error {
	return c.Post(ctx, "/question/"+url.PathEscape(request)+"/reply", struct {
		Answers [][]string `json:"answers"`
	}{answers}, nil)
}

// Dismiss leaves a request for answers without any.
func (c *Client) Dismiss(ctx context.Context, request string) error {
	return c.Post(ctx, "/question/"+url.PathEscape(request)+"/reject", nil, nil)
}

// Commands lists the commands of the client's directory.
func (c *Client) Commands(ctx context.Context) (all []Named, err error) {
	return all, c.Get(ctx, "/command", nil, &all)
}

// Providers lists the providers that can be used in the client's directory, with their models.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	var all struct {
		Providers []Provider `json:"providers"`
	}
	err := c.Get(ctx, "/config/providers", nil, &all)
	return all.Providers, err
}
