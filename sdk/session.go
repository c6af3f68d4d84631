package sdk

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// SessionOptions are the options of a new session. The zero value is good for most.
type SessionOptions struct {
	// ID, if it is set, begins with "ses_". The same request with the same id returns the same session, so that a program
	// that does not know whether it created one can repeat the request. "" chooses one.
	ID        string
	Title     string // "" lets a model write one
	Directory string // absolute, on the server's machine; "" is that of the client
	Agent     string // "" is the configured one
	Model     string // as "provider/model" or "provider/model#variant"; "" is the configured one
	// Rules of this session win over those of the configuration, but not over a deny of the agent and over what an
	// untrusted project denies or asks for.
	Rules  []Rule
	Budget Budget // what it may spend before it stops and asks
}

// Rule says what happens when the model wants to do something. Action is that of a tool, such as "bash" or "edit",
// and Resource what it is done to, such as a command or a path; both are patterns in which * stands for any text. The
// last rule that matches decides.
type Rule struct {
	Action   string
	Resource string
	Effect   Effect
}

// Effect is the outcome of a Rule.
type Effect string

// The effects.
const (
	EffectAllow Effect = "allow"
	EffectDeny  Effect = "deny"
	EffectAsk   Effect = "ask" // a person or the program replies (Client.Reply)
)

// Budget limits what a session spends. A zero field is no limit.
type Budget struct {
	USD    float64       // for the whole session
	Tokens int64         // for the whole session
	Time   time.Duration // of work on one prompt; checked between turns: a turn that runs is not cut off
	Turns  int           // requests to the model for one prompt
}

// Session is a handle of a session. It holds no state but the id: all of it is at the server.
type Session struct {
	client *Client
	id     session.ID
}

// ID returns the id, which never changes.
func (s *Session) ID() string { return string(s.id) }

// Info is the state of a session at one time.
type Info struct {
	ID        string
	ParentID  string // of a subagent; "" if a client created the session
	Title     string
	Directory string // absolute, on the server's machine
	Agent     string // of the next turn; "" is the configured one
	Model     string // of the next turn, as "provider/model#variant"; "" is the configured one
	Created   time.Time
	Updated   time.Time
	CostUSD   float64 // of all turns whose price is known
	Tokens    Tokens  // of all turns
	Tags      []string
	Todos     []Todo
	Reverted  bool // an undo is staged: Redo goes forward, the next prompt makes it final
}

// Tokens counts tokens. Input is without those of the cache, Output without those of reasoning.
type Tokens struct{ Input, Output, Reasoning, CacheRead, CacheWrite int64 }

// Todo is an entry of the model's list of things to do. Status is pending, in_progress, completed or cancelled.
type Todo struct{ Content, Status, Priority string }

// CreateSession creates a session. It is durable when the method returns. A nil o is the zero value.
func (c *Client) CreateSession(ctx context.Context, o *SessionOptions) (*Session, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	model, err := parseModel(o.Model)
	if err != nil {
		return nil, err
	}
	budget, err := o.Budget.encode()
	if err != nil {
		return nil, err
	}
	r := api.CreateSession{ID: session.ID(o.ID), Title: o.Title, Agent: o.Agent, Model: model, Budget: budget}
	if r.ID == "" {
		r.ID = session.ID(c.ids.New(session.PrefixSession))
	}
	if o.Directory != "" {
		r.Location = &session.Location{Directory: o.Directory}
	}
	for _, rule := range o.Rules {
		r.Permission = append(r.Permission, session.Rule{
			Action: rule.Action, Resource: rule.Resource, Effect: session.Effect(rule.Effect),
		})
	}
	var created *session.Session
	err = c.callUntilAnswered(ctx, func(ctx context.Context) (err error) {
		created, err = c.api.Create(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Session{c, created.ID}, nil
}

// encode returns the budget in the terms of the server, nil without a limit. What is less than one of the server's units
// is one: none would be no limit.
func (b Budget) encode() (*session.Budget, error) {
	if b == (Budget{}) {
		return nil, nil
	}
	// Ceil would turn -0.1 into 0, which means no limit.
	switch {
	case b.USD < 0:
		return nil, newInvalid("Budget", "a budget of %v dollars is negative", b.USD)
	case b.Time < 0:
		return nil, newInvalid("Budget", "a budget of %s is negative", b.Time)
	}
	usd := math.Ceil(b.USD * float64(session.Dollar))
	if !(math.Abs(usd) < math.MaxInt64) {
		return nil, newInvalid("Budget", "a budget of %v dollars is no amount that can be counted", b.USD)
	}
	return &session.Budget{
		USD: session.USD(usd), Tokens: b.Tokens, Turns: b.Turns,
		Wall: int64(math.Ceil(float64(b.Time) / float64(time.Millisecond))),
	}, nil
}

// parseModel reads provider/model#variant; "" is nil.
func parseModel(name string) (*session.ModelRef, error) {
	if name == "" {
		return nil, nil
	}
	ref := config.ModelName(name).Ref()
	if ref == nil || ref.ProviderID == "" || ref.ID == "" {
		return nil, newInvalid("Model", "the model %q has not the form provider/model or provider/model#variant", name)
	}
	return ref, nil
}

// formatModel returns the name of a model as parseModel reads it; "" for none.
func formatModel(m *session.ModelRef) string {
	switch {
	case m == nil || m.ID == "":
		return ""
	case m.Variant != "" && m.Variant != "default":
		return m.String() + "#" + m.Variant
	default:
		return m.String()
	}
}

// OpenSession returns the session with the id. It is an error of CodeNotFound if there is none.
func (c *Client) OpenSession(ctx context.Context, id string) (*Session, error) {
	if id == "" {
		return nil, newInvalid("id", "the id of the session is empty")
	}
	s := &Session{c, session.ID(id)}
	if _, err := s.Info(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// SessionFilter selects sessions. The zero value selects those of clients, without subagents, in all directories.
type SessionFilter struct {
	Directory string   // only of this directory, absolute
	Search    string   // only if the title contains the text
	Tags      []string // only with all of these tags
	Subagents bool     // also those of subagents
	Archived  bool     // also those that are hidden from lists
}

// Sessions yields sessions, those that were changed last first. It reads them in pages: a change while it runs may be
// seen or not. It ends after an error. A nil f is the zero value.
func (c *Client) Sessions(ctx context.Context, f *SessionFilter) iter.Seq2[Info, error] {
	if f == nil {
		f = &SessionFilter{}
	}
	return func(yield func(Info, error) bool) {
		q := api.SessionQuery{Directory: f.Directory, Search: f.Search, Tags: f.Tags, Archived: f.Archived, Limit: pageSize}
		if !f.Subagents {
			q.Parent = new(session.ID)
		}
		for {
			var page api.Page[*session.Session]
			err := c.call(ctx, func(ctx context.Context) (err error) { page, err = c.api.Sessions(ctx, q); return err })
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, s := range page.Data {
				if !yield(newInfo(s), nil) {
					return
				}
			}
			if q.Cursor = page.Cursor.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// pageSize is how many things are read at a time.
const pageSize = 100

// DeleteSession stops a session and removes it with its subagents, messages and stored files. What it changed in the
// project stays.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.call(ctx, func(ctx context.Context) error { return c.api.Delete(ctx, session.ID(id)) })
}

// Info returns the state of the session.
func (s *Session) Info(ctx context.Context) (*Info, error) {
	var got *session.Session
	err := s.client.call(ctx, func(ctx context.Context) (err error) {
		got, err = s.client.api.Session(ctx, s.id)
		return err
	})
	if err != nil {
		return nil, err
	}
	info := newInfo(got)
	return &info, nil
}

func newInfo(s *session.Session) Info {
	info := Info{
		ID: string(s.ID), ParentID: string(s.ParentID), Title: s.Title, Directory: s.Location.Directory,
		Agent: s.Agent, Model: formatModel(s.Model), Created: time.UnixMilli(s.Time.Created),
		Updated: time.UnixMilli(s.Time.Updated), CostUSD: s.Cost.Dollars(), Tokens: newTokens(s.Tokens),
		Tags: s.Tags, Reverted: s.Revert != nil,
	}
	for _, t := range s.Todos {
		info.Todos = append(info.Todos, Todo{t.Content, string(t.Status), string(t.Priority)})
	}
	return info
}

func newTokens(t session.Tokens) Tokens {
	return Tokens{t.Input, t.Output, t.Reasoning, t.Cache.Read, t.Cache.Write}
}

// Rename sets the title. A model does not replace it.
func (s *Session) Rename(ctx context.Context, title string) error {
	return s.client.call(ctx, func(ctx context.Context) error { return s.client.api.Rename(ctx, s.id, title) })
}

// Wait returns when the session is idle: nothing runs and nothing is pending. Work that waits for a reply is not over:
// answer it (Asks), or use Run, which yields what is asked. It does not say how the work came out; Do and Run do.
func (s *Session) Wait(ctx context.Context) error {
	return s.client.call(ctx, func(ctx context.Context) error { return s.client.api.Wait(ctx, s.id) })
}

// Interrupt stops the work of the session and returns when that is recorded. Prompts that were not begun stay pending.
func (s *Session) Interrupt(ctx context.Context) error {
	return s.client.call(ctx, func(ctx context.Context) error { return s.client.api.Interrupt(ctx, s.id) })
}

// Compact asks for the history that the model reads to be replaced by a summary, between two turns. It returns when the
// request is recorded; Wait returns when it is done. Instructions are for the summary, and may be "".
func (s *Session) Compact(ctx context.Context, instructions string) error {
	return s.client.call(ctx, func(ctx context.Context) error {
		_, err := s.client.api.Compact(ctx, s.id, api.CompactRequest{Instructions: instructions})
		return err
	})
}

// Fork copies the session with its messages before the message with the id, all of them with "", to a new session. The
// new one goes on in the same directory.
func (s *Session) Fork(ctx context.Context, before string) (*Session, error) {
	var copied *session.Session
	err := s.client.call(ctx, func(ctx context.Context) (err error) {
		forks, request := api.Forks{Client: s.client.api}, api.ForkRequest{Before: session.MessageID(before)}
		copied, err = forks.ForkSession(ctx, s.id, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Session{s.client, copied.ID}, nil
}
