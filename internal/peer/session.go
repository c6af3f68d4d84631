package peer

import (
	"context"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"
)

// Session is what counts here of a session.
type Session struct {
	ID        string `json:"id"`
	ParentID  string `json:"parentID"`
	Directory string `json:"directory"`
	Title     string `json:"title"`
	Share     *struct {
		URL string `json:"url"`
	} `json:"share"`
}

// Rule is a rule of a session's own.
type Rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// NewSession is what a session is made with.
type NewSession struct {
	Title      string `json:"title,omitzero"`
	Permission []Rule `json:"permission,omitempty"`
}

// Model names a model, by two members in prompts.
type Model struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
}

// Prompt is a message to a session; Command with its Arguments stands in place of a text.
type Prompt struct {
	Agent     string `json:"agent,omitzero"`
	Model     any    `json:"model,omitzero"` // a *Model; of a command PROVIDER/MODEL
	Variant   string `json:"variant,omitzero"`
	Parts     []Part `json:"parts,omitempty"`
	Command   string `json:"command,omitzero"`
	Arguments string `json:"arguments,omitzero"`
}

// Part is a text or a file.
type Part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	Mime     string `json:"mime,omitzero"`
	Filename string `json:"filename,omitzero"`
	URL      string `json:"url,omitzero"`
}

// Agent is one that can be named.
type Agent struct {
	Name   string         `json:"name"`
	Mode   string         `json:"mode"`
	Hidden bool           `json:"hidden"`
	Rules  jsontext.Value `json:"permission"`
}

func of(id string) string { return "/session/" + url.PathEscape(id) }

// Session returns a session.
func (c *Client) Session(ctx context.Context, id string) (s Session, err error) {
	return s, c.Get(ctx, of(id), nil, &s)
}

// Sessions lists the sessions of the client's directory, newest first.
func (c *Client) Sessions(ctx context.Context) (all []Session, err error) {
	return all, c.Get(ctx, "/session", nil, &all)
}

// Newest is the session of the client's directory that was at work last and is below no other; one without an id where
// there is none.
func (c *Client) Newest(ctx context.Context) (Session, error) {
	all, err := c.Sessions(ctx)
	if err != nil {
		return Session{}, err
	}
	for _, s := range all {
		if s.ParentID == "" {
			return s, nil
		}
	}
	return Session{}, nil
}

// Create makes a session.
func (c *Client) Create(ctx context.Context, n NewSession) (s Session, err error) {
	return s, c.Post(ctx, "/session", n, &s)
}

// Fork makes a session of what was said in another.
func (c *Client) Fork(ctx context.Context, id string) (s Session, err error) {
	return s, c.Post(ctx, of(id)+"/fork", struct{}{}, &s)
}

// Share publishes a session.
func (c *Client) Share(ctx context.Context, id string) (s Session, err error) {
	return s, c.Post(ctx, of(id)+"/share", struct{}{}, &s)
}

// Prompt sends a message, or a command, and returns when the work that it starts is done.
func (c *Client) Prompt(ctx context.Context, id string, p Prompt) error {
	if p.Command != "" {
		return c.Post(ctx, of(id)+"/command", struct {
			Agent     string `json:"agent,omitzero"`
			Model     any    `json:"model,omitzero"`
			Variant   string `json:"variant,omitzero"`
			Parts     []Part `json:"parts,omitempty"`
			Command   string `json:"command"`
			Arguments string `json:"arguments"`
		}(p), nil)
	}
	return c.Post(ctx, of(id)+"/message", p, nil)
}

// Abort stops the session's work.
func (c *Client) Abort(ctx context.Context, id string) error {
	return c.Post(ctx, of(id)+"/abort", nil, nil)
}

// Reply is once, always or reject; the model is told the Message of a reject.
type Reply struct {
	Reply   string `json:"reply"`
	Message string `json:"message,omitzero"`
}

// Respond answers a request for a permission.
func (c *Client) Respond(ctx context.Context, request string, r Reply) error {
	return c.Post(ctx, "/permission/"+url.PathEscape(request)+"/reply", r, nil)
}

// Agents lists the agents of the client's directory.
func (c *Client) Agents(ctx context.Context) (all []Agent, err error) {
	return all, c.Get(ctx, "/agent", nil, &all)
}
