//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	stats "github.com/cairn-dev/cairn/internal/record/usage"
	"github.com/cairn-dev/cairn/internal/session"
)

// measureStats adds up 1,000,000 messages, half of them turns: what they cost, and what agents and tools did.
func (b *bench) measureStats(ctx context.Context) error {
	dir, n := filepath.Join(b.dir, "stats"), b.scaleCount(1_000_000)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := writeTurns(ctx, s, newWords(), n); err != nil {
		return err
	}
	for _, m := range []struct {
		name  string
		query stats.Query
		limit func(context.Context, store.Store) error
		of    string
	}{
		{"by day and model", stats.Query{}, readSpend, "reading the lines of the spend"},
		{"by agent and tool", stats.Query{Messages: true}, readRows, "reading the rows of the messages"},
	} {
		m.query.Zone = time.UTC
		quiet := b.settle(ctx)
		var ours, bare []float64
		for range 3 {
			start := time.Now()
			report, err := stats.Collect(ctx, s, m.query)
			if err != nil {
				return err
			}
			ours = append(ours, toMillis(time.Since(start)))
			if err := checkReport(report, n, m.query.Messages); err != nil {
				return err
			}
			start = time.Now()
			if err := m.limit(ctx, s); err != nil {
				return err
			}
			bare = append(bare, toMillis(time.Since(start)))
		}
		b.add(row{
			ID: "P34", What: fmt.Sprintf("stats of %dk messages, %s", n/1000, m.name), Figure: medianOf(ours), Unit: "ms", N: len(ours),
			Limit: medianOf(bare), Of: m.of, Foreign: quiet.foreignSince(),
		})
	}
	return nil
}

// checkReport returns an error unless the report counts the n messages that writeTurns has written.
func checkReport(r *stats.Report, n int, hasMessages bool) error {
	turns, calls := 0, 0
	for _, a := range r.Agents {
		turns += a.Turns
	}
	for _, t := range r.Tools {
		calls += t.Calls
	}
	if r.Turns != n/2 || hasMessages && (r.Prompts != n/2 || turns != n/2 || calls != n/2) {
		return fmt.Errorf("stats of %d messages: %d turns, %d prompts, %d turns of agents, %d calls", n, r.Turns, r.Prompts, turns, calls)
	}
	return nil
}

func readSpend(ctx context.Context, s store.Store) error {
	_, err := store.Query(ctx, s, func(r store.Reader) ([]store.Spend, error) { return r.Spent("", 0) })
	return err
}

func readRows(ctx context.Context, s store.Store) error {
	return store.VisitSessions(ctx, s, store.SessionQuery{Archived: true}, func(row store.RawSession) error {
		return s.View(ctx, func(r store.Reader) error {
			return r.RawMessages(row.ID, store.MessageQuery{After: -1}, func(*store.RawMessage) error { return nil })
		})
	})
}

// writeTurns writes n messages in sessions of 1,000: prompts and turns with a call, of three agents and four tools, with what
// the turns cost.
func writeTurns(ctx context.Context, s store.Store, text *words, n int) error {
	ids := &session.IDs{}
	agents, tools := []string{"build", "plan", "general"}, []string{"bash", "read", "edit", "grep"}
	for written := 0; written < n; written += 1_000 {
		err := s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
			id, now := session.ID(ids.New(session.PrefixSession)), time.Now().UnixMilli()
			if err := tx.PutSession(&session.Session{ID: id, Title: text.write(5), Time: session.SessionTime{Updated: now}}); err != nil {
				return err
			}
			for i := int64(0); i < 1_000; i += 2 {
				// A prompt, then its turn.
				prompt := &session.User{Text: text.write(20 + text.random.IntN(80))}
				prompt.ID, prompt.Type, prompt.Seq = session.MessageID(ids.New(session.PrefixMessage)), session.TypeUser, i
				prompt.Time.Created = now
				turn := makeTurn(text, agents[written/1_000%len(agents)], tools[int(i/2)%len(tools)], now)
				turn.ID, turn.Seq = session.MessageID(ids.New(session.PrefixMessage)), i+1
				for _, m := range []session.Message{prompt, turn} {
					if err := tx.PutMessage(id, m, nil, m.Meta().Seq); err != nil {
						return err
					}
				}
				line := store.Spend{SessionID: id, Seq: i + 1, Time: now, Model: turn.Model, Cost: *turn.Cost, Tokens: *turn.Tokens}
				if err := tx.AddSpend(line); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// makeTurn returns a turn with a text and a call that succeeded.
func makeTurn(text *words, agent, tool string, now int64) *session.Assistant {
	turn := &session.Assistant{
		Agent: agent, Model: session.ModelRef{ProviderID: "bench", ID: "model"}, Cost: new(session.USD(1_000)),
		Tokens: &session.Tokens{Input: 1_000, Output: 100},
		Content: []session.Content{
			&session.Text{Type: "text", Text: text.write(50)},
			&session.Tool{
				Type: "tool", Name: tool,
				State: session.ToolState{
					Status: session.ToolCompleted, Input: []byte(`{"path":"a.txt"}`),
					Content: []session.ToolContent{{Type: "text", Text: text.write(100)}},
				},
				Time: session.ToolTime{Created: now, Ran: now, Completed: now + int64(text.random.IntN(1_000))},
			},
		},
	}
	turn.Type, turn.Time.Created = session.TypeAssistant, now
	return turn
}
