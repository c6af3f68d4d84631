package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// message reads a message of any type.
type message struct{ session.Message }

// UnmarshalJSON reads the message by its type.
func (m *message) UnmarshalJSON(b []byte) (err error) {
	m.Message, err = session.DecodeMessage(b)
	return err
}

func unwrapMessages(ms []message) []session.Message {
	out := make([]session.Message, len(ms))
	for i, m := range ms {
		out[i] = m.Message
	}
	return out
}

// Messages lists messages, newest first unless the query says otherwise.
func (c *Client) Messages(ctx context.Context, id session.ID, q MessageQuery) (Page[session.Message], error) {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	} else if q.Oldest {
		v.Set("order", "asc")
	}
	out, err := get[Page[message]](ctx, c, apiPath("session", string(id), "message"), v)
	return Page[session.Message]{Data: unwrapMessages(out.Data), Cursor: out.Cursor}, err
}

// NewestMessages yields the messages of a session, newest first, those of a staged revert included.
func (c *Client) NewestMessages(ctx context.Context, id session.ID) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		q := MessageQuery{Limit: 200}
		for {
			page, err := c.Messages(ctx, id, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range page.Data {
				if !yield(m, nil) {
					return
				}
			}
			if q.Cursor = page.Cursor.Next; q.Cursor == "" || len(page.Data) < q.Limit {
				return
			}
		}
	}
}

// Message returns one message.
func (c *Client) Message(ctx context.Context, id session.ID, m session.MessageID) (session.Message, error) {
	out, err := get[Data[message]](ctx, c, apiPath("session", string(id), "message", string(m)), nil)
	return out.Data.Message, err
}

// History returns up to limit durable events with seq > after that exist now; -1 begins at the start, limit 0 is 50,
// at most 100.
func (c *Client) History(ctx context.Context, id session.ID, after int64, limit int) (History, error) {
	v := url.Values{}
	if after >= 0 {
		v.Set("after", strconv.FormatInt(after, 10))
	}
	if limit != 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	return get[History](ctx, c, apiPath("session", string(id), "history"), v)
}

// Head returns the seq of the session's newest event: what the server names when it refuses a cursor that is ahead.
func (c *Client) Head(ctx context.Context, id session.ID) (int64, error) {
	_, err := c.History(ctx, id, maxSeq, 1)
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeConflict && e.Kind == KindCursor {
		return strconv.ParseInt(e.ID, 10, 64)
	}
	return 0, err
}

// maxSeq is the largest cursor that a server takes.
const maxSeq = 1<<53 - 1

// Asks returns the pending permission requests of a session, or of the location with "".
func (c *Client) Asks(ctx context.Context, id session.ID) ([]session.PendingAsk, error) {
	if id == "" {
		out, err := get[AtLocation[[]session.PendingAsk]](ctx, c, apiPath("permission", "request"), nil)
		return out.Data, err
	}
	out, err := get[Data[[]session.PendingAsk]](ctx, c, apiPath("session", string(id), "permission"), nil)
	return out.Data, err
}

// Reply answers a permission request.
func (c *Client) Reply(ctx context.Context, id session.ID, a session.AskID, r ReplyRequest) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "permission", string(a), "reply"), r)
}

// QuestionClient calls the operations on questions of sessions.
type QuestionClient struct{ client *Client }

// Questions returns the operations on questions of sessions.
func (c *Client) Questions() QuestionClient { return QuestionClient{c} }

// List returns the pending questions of a session, or of the location with "".
func (g QuestionClient) List(ctx context.Context, id session.ID) ([]session.QuestionAsked, error) {
	if id == "" {
		out, err := get[AtLocation[[]session.QuestionAsked]](ctx, g.client, apiPath("question", "request"), nil)
		return out.Data, err
	}
	out, err := get[Data[[]session.QuestionAsked]](ctx, g.client, apiPath("session", string(id), "question"), nil)
	return out.Data, err
}

// Answer answers a question: a list of strings for each of its parts.
func (g QuestionClient) Answer(ctx context.Context, id session.ID, q session.AskID, answers [][]string) error {
	return g.client.change(ctx, http.MethodPost, apiPath("session", string(id), "question", string(q), "reply"),
		Answers{answers})
}

// Reject refuses to answer, which stops the session's work.
func (g QuestionClient) Reject(ctx context.Context, id session.ID, q session.AskID) error {
	return g.client.change(ctx, http.MethodPost, apiPath("session", string(id), "question", string(q), "reject"), nil)
}

// Approvals returns the saved permissions of a project, by its record or by what OpenCode calls it at the client's
// location, or of all with "".
func (c *Client) Approvals(ctx context.Context, p session.ProjectID) ([]Approval, error) {
	v := url.Values{}
	if p != "" {
		v.Set("projectID", string(p))
	}
	out, err := get[Data[[]Approval]](ctx, c, apiPath("permission", "saved"), v)
	return out.Data, err
}

// PermissionQuery is the question of ExplainPermission: an action on resources, by an agent, in a session.
type PermissionQuery struct {
	Action    string
	Resources []string
	Agent     string
	SessionID session.ID
}

// ExplainPermission returns what the rules say of an action at the client's location, and why. Nothing is asked. Each
// resource takes a request; the effect is the strictest one.
func (c *Client) ExplainPermission(ctx context.Context, q PermissionQuery) (Verdict, error) {
	v := url.Values{"action": {q.Action}}
	if q.Agent != "" {
		v.Set("agent", q.Agent)
	}
	if q.SessionID != "" {
		v.Set("sessionID", string(q.SessionID))
	}
	order := []session.Effect{"", session.Allow, session.Ask, session.Deny}
	var all Verdict
	for _, r := range q.Resources {
		v.Set("resource", r)
		out, err := get[Data[Verdict]](ctx, c, apiPath("permission", "explain"), v)
		if err != nil {
			return all, err
		}
		all.Effect = order[max(slices.Index(order, all.Effect), slices.Index(order, out.Data.Effect))]
		all.Parts, all.Sandbox = append(all.Parts, out.Data.Parts...), out.Data.Sandbox
	}
	return all, nil
}

// Revoke removes a saved permission.
func (c *Client) Revoke(ctx context.Context, approval string) error {
	return c.change(ctx, http.MethodDelete, apiPath("permission", "saved", approval), nil)
}

// Health reports that the server works.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, apiPath("health"), nil)
}

// Location returns the client's location.
func (c *Client) Location(ctx context.Context) (LocationInfo, error) {
	return get[LocationInfo](ctx, c, apiPath("location"), nil)
}

// Agents returns the agents of the client's location.
func (c *Client) Agents(ctx context.Context) (AtLocation[[]session.Agent], error) {
	return get[AtLocation[[]session.Agent]](ctx, c, apiPath("agent"), nil)
}

// Skills returns the skills of the client's location, and what is wrong with some.
func (c *Client) Skills(ctx context.Context) (AtLocation[[]Skill], error) {
	return get[AtLocation[[]Skill]](ctx, c, apiPath("skill"), nil)
}

// Plugins returns the plugins of the client's location, after they were loaded.
func (c *Client) Plugins(ctx context.Context) (AtLocation[[]Plugin], error) {
	return get[AtLocation[[]Plugin]](ctx, c, apiPath("plugin"), nil)
}

// Commands returns the commands of the client's location.
func (c *Client) Commands(ctx context.Context) (AtLocation[[]Command], error) {
	return get[AtLocation[[]Command]](ctx, c, apiPath("command"), url.Values{"all": {"1"}})
}

// Expand makes the prompt of a command at the client's location, running what its template wants to have run.
func (c *Client) Expand(ctx context.Context, r ExpandRequest) (Expansion, error) {
	var out Data[Expansion]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("command", "expand"), in: r, out: &out})
	return out.Data, err
}

// Models returns the models that can be used at the client's location.
func (c *Client) Models(ctx context.Context) (AtLocation[[]Model], error) {
	return get[AtLocation[[]Model]](ctx, c, apiPath("model"), nil)
}

// Providers returns the providers that can be used at the client's location.
func (c *Client) Providers(ctx context.Context) (AtLocation[[]Provider], error) {
	return get[AtLocation[[]Provider]](ctx, c, apiPath("provider"), nil)
}

// Explain returns where the location's settings come from: those of the key and below it, all with "".
func (c *Client) Explain(ctx context.Context, key string) (jsontext.Value, error) {
	v := url.Values{}
	if key != "" {
		v.Set("key", key)
	}
	out, err := get[Data[jsontext.Value]](ctx, c, apiPath("config", "explain"), v)
	return out.Data, err
}

// Doctor returns what the server found out about its own health.
func (c *Client) Doctor(ctx context.Context) (jsontext.Value, error) {
	out, err := get[Data[jsontext.Value]](ctx, c, apiPath("doctor"), nil)
	return out.Data, err
}

var _ json.Unmarshaler = (*message)(nil)
