package engine

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// interjecting is a store to which another process appends an event right before the second update from now on.
type interjecting struct {
	store.Store
	updates int
	event   session.EventData
}

func (s *interjecting) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	if s.updates--; s.updates == 0 {
		other := eventlog.New(eventlog.Config{Store: s.Store, IDs: &session.IDs{}})
		_, err := other.Append(ctx, "ses_a", store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
			return eventlog.NewDrafts(s.event), nil
		})
		if err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, d, f)
}

// A turn runs as the agent of the prompts that were promoted for it, also if the inbox changes after the boundary was
// sampled.
func TestSelectionChangesAtTheBoundary(t *testing.T) {
	plan := session.Prompt{Text: "later", Agent: "plan"}
	for name, c := range map[string]struct {
		held  []session.Prompt
		event session.EventData
		want  string
	}{
		"withdrawn": {[]session.Prompt{plan}, &session.InputWithdrawn{MessageID: "msg_held"}, "build"},
		"edited": {
			[]session.Prompt{plan},
			&session.InputEdited{MessageID: "msg_held", Prompt: session.Prompt{Text: "later"}}, "build",
		},
		"admitted": {
			nil, &session.PromptAdmitted{MessageID: "msg_held", Prompt: plan, Delivery: session.Steer, Hold: true}, "plan",
		},
		"unchanged": {[]session.Prompt{plan}, &session.Renamed{Title: "x", By: "user"}, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := script.Turn{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}
				w := newWorld(t, script.Script{Turns: []script.Turn{turn}})
				w.agents["plan"] = session.Agent{ID: "plan", Mode: session.ModePrimary, System: "You plan."}
				s := &interjecting{Store: w.store, event: c.event}
				w.wrap = func(store.Store) store.Store { return s }
				w.start()
				create(t, w)
				admit := func(id session.MessageID, p session.Prompt, hold bool) {
					r := admit.PromptRequest{SessionID: "ses_a", ID: id, Prompt: p, Hold: hold}
					if _, err := w.engine.Commands.AdmitPrompt(t.Context(), r); err != nil {
						t.Fatal("admit:", err)
					}
					synctest.Wait()
				}
				for _, p := range c.held {
					admit("msg_held", p, true)
				}
				s.updates = 2 // the first one admits the prompt
				admit("msg_go", session.Prompt{Text: "go"}, false)
				w.close(t)
				if n := len(w.player.ListRequests()); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
				err := w.store.View(t.Context(), func(r store.Reader) error {
					m, _, err := store.NewestMessage(r, "ses_a", session.TypeAssistant)
					if a, ok := m.(*session.Assistant); !ok || a.Agent != c.want {
						t.Errorf("the turn is %+v, want agent %s", m, c.want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
				prove(t, w)
			})
		})
	}
}
