package usage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// toolCalls are the calls of a tool.
type toolCalls struct {
	calls, succeeded, failed int
	took                     []time.Duration
}

// maxDurations bounds the durations that a median is made of.
const maxDurations = 10_000

func (t *toolCalls) add(call *session.Tool) {
	t.calls++
	switch {
	case !call.State.Status.IsSettled():
		return
	case call.State.HasFailed():
		t.failed++
	default:
		t.succeeded++
	}
	if len(t.took) < maxDurations {
		t.took = append(t.took, call.Time.Took(time.Time{}))
	}
}

func (t *toolCalls) tool(name string) Tool {
	out := Tool{Name: name, Calls: t.calls, Succeeded: t.succeeded, Failed: t.failed, Unfinished: t.calls - t.succeeded - t.failed}
	if n := len(t.took); n > 0 {
		slices.Sort(t.took)
		out.Median = t.took[n/2]
	}
	return out
}

// messagesAtOnce are read in one transaction.
const messagesAtOnce = 500

// readMessages counts prompts, and with Query.Messages agents and tools, of the sessions that have changed since the query
// begins. Damaged and unknown messages are left out.
func (c *collector) readMessages(ctx context.Context, v store.Viewer) error {
	return store.VisitSessions(ctx, v, store.SessionQuery{Archived: true}, func(row store.RawSession) error {
		if row.Updated < c.query.Since || !c.query.wants(row.ID) {
			return nil
		}
		if err := c.readSession(ctx, v, row.ID); err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return nil
	})
}

func (c *collector) readSession(ctx context.Context, v store.Viewer, id session.ID) error {
	q := store.MessageQuery{After: -1, Limit: messagesAtOnce}
	if !c.query.Messages {
		q.Type = session.TypeUser // which an index has: answers with their outputs are not read
	}
	for more := true; more; {
		more = false
		err := v.View(ctx, func(r store.Reader) error {
			// The messages that a fork has copied come before its first event: they count in their own session.
			if q.After < 0 {
				first, err := r.Events(id, -1, 1)
				if err != nil {
					return err
				}
				if len(first) > 0 {
					q.After = first[0].Seq - 1
				}
			}
			return r.RawMessages(id, q, func(row *store.RawMessage) error {
				q.After, more = row.Seq, true
				c.addMessage(row)
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) addMessage(row *store.RawMessage) {
	if row.Type != session.TypeUser && row.Type != session.TypeAssistant {
		return
	}
	m, err := row.Message()
	if err != nil || !c.query.contains(m.Meta().Time.Created) {
		return
	}
	turn, isTurn := m.(*session.Assistant)
	if !isTurn {
		c.total.Prompts++
		return
	}
	agent := groupOf(c.agents, turn.Agent)
	agent.Turns++
	if turn.Cost != nil && turn.Tokens != nil {
		agent.Cost += *turn.Cost
		agent.Tokens = agent.Tokens.Add(*turn.Tokens)
	}
	for _, call := range turn.Tools() {
		if c.tools[call.Name] == nil {
			c.tools[call.Name] = &toolCalls{}
		}
		c.tools[call.Name].add(call)
	}
}
