package engine

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A prompt may select an agent and a model: the session keeps them, and unknown ones are refused before anything is
// written. A variant applies to one prompt. The turn that answers names the prompt, and the ids of its start and end
// enclose those of its items.
func TestPromptBringsItsChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		w.models["test/one"].Client = &spoken{}
		ctx := t.Context()
		if _, err := w.engine.Commands.CreateSession(ctx,
			admit.CreateRequest{ID: "ses_a", Title: "test", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		unknown := session.Prompt{Text: "hi", Agent: "unknown"}
		if _, err := w.engine.Commands.AdmitPrompt(ctx,
			admit.PromptRequest{SessionID: "ses_a", Prompt: unknown}); !errors.Is(
			err,
			&session.Error{Code: session.CodeNotFound},
		) {
			t.Errorf("an unknown agent: %v", err)
		}
		in, err := w.engine.Commands.AdmitPrompt(
			ctx,
			admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}, Named: true},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Wait(ctx, "ses_a"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			asked, want string
			prompt      session.Prompt
		}{
			{"quick", "quick", session.Prompt{Text: "hi"}},
			{"", "", session.Prompt{Text: "hi"}},
			{"", "quick", session.Prompt{Text: "hi", Model: &session.ModelRef{ProviderID: "test", ID: "one", Variant: "quick"}}},
			{"", "", session.Prompt{Text: "hi"}},
		} {
			in, err := w.engine.Commands.AdmitPrompt(
				ctx,
				admit.PromptRequest{SessionID: "ses_a", Prompt: c.prompt, Named: true, Variant: c.asked, Hold: true},
			)
			if err != nil || in.Prompt.Model.String() != "test/one" || in.Prompt.Model.Variant != c.want {
				t.Errorf("variant %q of %v: %v %v, want %s", c.asked, c.prompt.Model, in.Prompt.Model, err, c.want)
			}
			edit := admit.PromptChange{Prompt: &unknown}
			if err := w.engine.Commands.ChangePrompt(ctx, "ses_a", in.ID, edit); !errors.Is(
				err, &session.Error{Code: session.CodeNotFound},
			) {
				t.Errorf("an edit that names an unknown agent: %v", err)
			}
			if err := w.engine.Commands.WithdrawPrompt(ctx, "ses_a", in.ID); err != nil {
				t.Fatal(err)
			}
		}
		err = w.store.View(ctx, func(r store.Reader) error {
			s, _, err := r.Session("ses_a")
			if err != nil || s.Agent != "build" || s.Model == nil || s.Model.String() != "test/one" ||
				s.Changes == nil {
				t.Errorf("the session is %+v", s)
			}
			m, _, err := store.NewestMessage(r, "ses_a", session.TypeAssistant)
			a, _ := m.(*session.Assistant)
			switch {
			case a == nil || a.Agent != "build" || a.ParentID != in.ID:
				t.Errorf("the turn is %+v", m)
			case len(a.Content) != 1 || a.StartID >= a.Content[0].ItemID() || a.EndID <= a.Content[0].ItemID():
				t.Errorf("the parts are %s %+v %s", a.StartID, a.Content, a.EndID)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.close(t)
	})
}

// A prompt may name any existing agent, also a hidden one and a subagent.
func TestPromptBringsAnyAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		w.agents["helper"] = session.Agent{ID: "helper", Mode: session.ModeSubagent}
		w.agents["quiet"] = session.Agent{ID: "quiet", Mode: session.ModePrimary, Hidden: true}
		for id, agent := range map[session.ID]string{"ses_a": "helper", "ses_b": "quiet"} {
			if _, err := w.engine.Commands.CreateSession(t.Context(),
				admit.CreateRequest{
					ID: id, Title: "test", Agent: agent,
					Location: session.Location{Directory: "/w"},
				}); err != nil {
				t.Error(err)
			}
			in, err := w.engine.Commands.AdmitPrompt(
				t.Context(),
				admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: "hi", Agent: agent}, Hold: true},
			)
			if err != nil || in.Prompt.Agent != agent {
				t.Errorf("%s: %+v %v", agent, in, err)
			}
		}
		w.close(t)
	})
}
