package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// model holds the expected messages, inbox and asks of a few sessions, as plain maps.
type model struct {
	sessions []session.ID
	messages map[session.MessageID]session.Synthetic // SessionID says whose it is
	inputs   map[session.MessageID]session.Input
	asks     map[session.AskID]store.AskRow
}

func (m model) clone() model {
	return model{m.sessions, maps.Clone(m.messages), maps.Clone(m.inputs), maps.Clone(m.asks)}
}

// testModel does random transactions, some of which fail, and compares with the model after each.
func testModel(t *testing.T, s store.Store) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		// Each round has sessions of its own, because the store keeps those of the rounds before.
		round++
		m := model{
			messages: map[session.MessageID]session.Synthetic{},
			inputs:   map[session.MessageID]session.Input{},
			asks:     map[session.AskID]store.AskRow{},
		}
		for i := range 3 {
			m.sessions = append(m.sessions, session.ID(fmt.Sprintf("ses_%d_%d", round, i)))
		}
		// Draw a transaction and make it in a copy of the model; some fail.
		for range rapid.IntRange(1, 8).Draw(rt, "transactions") {
			next := m.clone()
			keep := rapid.IntRange(0, 4).Draw(rt, "fails") > 0
			var steps []func(store.Tx) error
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				steps = append(steps, next.drawStep(rt, round))
			}
			err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
				for _, step := range steps {
					if err := step(tx); err != nil {
						rt.Fatalf("step: %v", err)
					}
				}
				if !keep {
					return errOwn
				}
				return nil
			})
			// A failed transaction leaves the model and the store as they were.
			if keep != (err == nil) {
				rt.Fatalf("update: %v", err)
			}
			if keep {
				m = next
			}
			if err := s.View(t.Context(), func(r store.Reader) error { return m.compare(rt, r) }); err != nil {
				rt.Fatalf("view: %v", err)
			}
		}
	})
}

// drawStep draws a change, makes it in the model and returns it.
func (m *model) drawStep(rt *rapid.T, round int) func(store.Tx) error {
	n := rapid.IntRange(0, 5).Draw(rt, "n")
	owner := m.sessions[n%3] // an id belongs to one session
	// Put or delete messages, inputs and requests, or delete a session. Messages are put most often.
	switch rapid.IntRange(0, 7).Draw(rt, "step") {
	case 0, 1:
		id := session.MessageID(fmt.Sprintf("msg_%d_%d", round, n))
		x := session.Synthetic{
			Head: headOf(id, session.TypeSynthetic, int64(n)), SessionID: owner, Text: rapid.String().Draw(rt, "text"),
		}
		m.messages[id] = x
		return func(tx store.Tx) error { return tx.PutMessage(owner, &x, nil, 0) }
	case 2:
		after := int64(rapid.IntRange(-1, 5).Draw(rt, "after"))
		maps.DeleteFunc(
			m.messages,
			func(_ session.MessageID, x session.Synthetic) bool { return x.SessionID == owner && x.Seq > after },
		)
		return func(tx store.Tx) error { return tx.DeleteMessages(owner, after, 0) }
	case 3:
		in := session.Input{
			ID: session.MessageID(fmt.Sprintf("in_%d_%d", round, n)), SessionID: owner, AdmittedSeq: int64(n),
			Order: rapid.Int64Range(0, 3).Draw(rt, "order"), Delivery: rapid.SampledFrom([]session.Delivery{
				session.Steer, session.Queue,
			}).Draw(rt, "delivery"),
		}
		if rapid.Bool().Draw(rt, "promoted") {
			in.PromotedSeq = new(int64(9))
		}
		m.inputs[in.ID] = in
		return func(tx store.Tx) error { return tx.PutInput(&in) }
	case 4:
		id := session.MessageID(fmt.Sprintf("in_%d_%d", round, n))
		delete(m.inputs, id)
		return func(tx store.Tx) error { return tx.DeleteInput(id) }
	case 6:
		seq := int64(n)
		maps.DeleteFunc(m.messages, func(_ session.MessageID, x session.Synthetic) bool {
			return x.SessionID == owner && x.Seq == seq
		})
		return func(tx store.Tx) error { return tx.DeleteMessages(owner, seq-1, seq+1) }
	case 5:
		a := store.AskRow{Seq: int64(n), PendingAsk: session.PendingAsk{
			ID: session.AskID(fmt.Sprintf("per_%d_%d", round, n)), SessionID: owner,
			Resources: []string{},
		}, Reply: rapid.SampledFrom([]session.Reply{"", session.ReplyOnce}).Draw(rt, "reply")}
		m.asks[a.ID] = a
		return func(tx store.Tx) error { return tx.PutAsk(&a) }
	default:
		maps.DeleteFunc(m.messages, func(_ session.MessageID, x session.Synthetic) bool { return x.SessionID == owner })
		maps.DeleteFunc(m.inputs, func(_ session.MessageID, in session.Input) bool { return in.SessionID == owner })
		maps.DeleteFunc(m.asks, func(_ session.AskID, a store.AskRow) bool { return a.SessionID == owner })
		return func(tx store.Tx) error { return tx.DeleteSession(owner) }
	}
}

func (m *model) compare(rt *rapid.T, r store.Reader) error {
	for _, id := range m.sessions {
		q := store.MessageQuery{
			After: int64(rapid.IntRange(-1, 4).Draw(rt, "after")), Before: int64(rapid.IntRange(0, 5).Draw(rt, "before")),
			Newest: rapid.Bool().Draw(rt, "newest"), Limit: rapid.IntRange(0, 4).Draw(rt, "limit"),
		}
		got, err := store.ReadMessages(r, id, q)
		if err != nil {
			return err
		}
		equal(rt, fmt.Sprintf("messages %+v", q), got, m.wantMessages(id, q))
		d := rapid.SampledFrom([]session.Delivery{"", session.Steer, session.Queue}).Draw(rt, "delivery")
		inputs, err := store.PendingInputs(r, id, d, q.Limit)
		if err != nil {
			return err
		}
		equal(rt, "inbox", inputs, m.wantInputs(id, d, q.Limit))
		asks, err := r.Asks(store.AskQuery{SessionID: id, Pending: q.Newest})
		if err != nil {
			return err
		}
		equal(rt, "asks", asks, m.wantAsks(id, q.Newest))
	}
	return nil
}

func equal(rt *rapid.T, what string, got, want any) {
	if d := gocmp.Diff(want, got); d != "" {
		rt.Fatalf("%s: -want +got\n%s", what, d)
	}
}

func (m *model) wantMessages(id session.ID, q store.MessageQuery) []session.Message {
	out := []session.Message{}
	for _, x := range m.messages {
		if x.SessionID == id && x.Seq > q.After && (q.Before == 0 || x.Seq < q.Before) {
			out = append(out, &x)
		}
	}
	slices.SortFunc(out, func(a, b session.Message) int {
		if q.Newest {
			a, b = b, a
		}
		return cmp.Compare(a.Meta().Seq, b.Meta().Seq)
	})
	return truncate(out, q.Limit)
}

func (m *model) wantInputs(id session.ID, d session.Delivery, limit int) []*session.Input {
	out := []*session.Input{}
	for _, in := range m.inputs {
		if in.SessionID == id && in.PromotedSeq == nil && (d == "" || in.Delivery == d) {
			out = append(out, &in)
		}
	}
	slices.SortFunc(out, func(a, b *session.Input) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.AdmittedSeq, b.AdmittedSeq))
	})
	return truncate(out, limit)
}

func (m *model) wantAsks(id session.ID, pending bool) []*store.AskRow {
	out := []*store.AskRow{}
	for _, a := range m.asks {
		if a.SessionID == id && (a.Reply == "" || !pending) {
			out = append(out, &a)
		}
	}
	slices.SortFunc(out, func(a, b *store.AskRow) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}
