package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The policy "allow" answers asks. It allows nothing that a rule denies or that needs a person, at any depth of parent
// sessions.
func TestAllowLiftsAsksOnly(t *testing.T) {
	rule := func(action, resource string, e session.Effect) session.Rule {
		return session.Rule{Action: action, Resource: resource, Effect: e}
	}
	bashAsks := rule("bash", "*", session.Ask)
	for name, c := range map[string]struct {
		above   []session.Rule // of the session at the top
		layers  []permission.Layer
		request tool.Request
		runs    bool
	}{
		"an ask": {
			above:   []session.Rule{bashAsks},
			request: tool.Request{Action: "bash", Resources: []string{"ls"}}, runs: true,
		},
		"a file by the way": {
			above:   []session.Rule{rule("edit", "*", session.Allow)},
			request: tool.Request{Action: "edit", Resources: []string{".git/config"}}, runs: true,
		},
		"a directory outside": {
			above:   []session.Rule{rule("external_directory", "*", session.Ask)},
			request: tool.Request{Action: "external_directory", Resources: []string{"/o/*"}}, runs: true,
		},
		"a deny": {
			above:   []session.Rule{rule("bash", "rm *", session.Deny)},
			request: tool.Request{Action: "bash", Resources: []string{"rm x"}},
		},
		"a deny of a text that is not stored": {
			above:   []session.Rule{rule("edit", "secret", session.Deny)},
			request: tool.Request{Action: "edit", Resources: []string{"*"}, Hidden: []string{"secret"}},
		},
		"a deny in a line that is not plain": {
			above:   []session.Rule{rule("bash", "rm *", session.Deny)},
			request: tool.Request{Action: "bash", Resources: []string{"echo $(rm x)"}},
		},
		"what is not plain": {
			above:   []session.Rule{rule("bash", "rm *", session.Deny)},
			request: tool.Request{Action: "bash", Resources: []string{"$X x"}}, runs: true,
		},
		"what needs a person": {
			above:   []session.Rule{rule("bash", "*", session.Allow)},
			request: tool.Request{Action: "bash", Resources: []string{"ls"}, Person: true},
		},
		"an agent's hard deny": {
			layers: []permission.Layer{{
				Name: "agent", Ceiling: true,
				Rules: []session.Rule{rule("bash", "rm *", session.Deny)},
			}},
			request: tool.Request{Action: "bash", Resources: []string{"ls", "$X && rm x"}},
		},
		"a project's deny": {
			layers: []permission.Layer{{
				Name: "project", Ceiling: true, Strict: true,
				Rules: []session.Rule{rule("bash", "rm *", session.Deny)},
			}},
			request: tool.Request{Action: "bash", Resources: []string{"rm x"}},
		},
		"a protected deny": {
			above:   []session.Rule{rule("edit", "*.git/*", session.Deny)},
			request: tool.Request{Action: "edit", Resources: []string{".git/config"}},
		},
		"a directory denied": {
			above:   []session.Rule{rule("external_directory", "/o/*", session.Deny)},
			request: tool.Request{Action: "external_directory", Resources: []string{"/o/*"}},
		},
	} {
		for depth := range 3 {
			t.Run(fmt.Sprint(name, ", depth ", depth), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					call := script.Step{Call: &script.Call{ID: "c", Name: "does", Arguments: jsontext.Value(`{}`)}}
					w := newWorld(
						t,
						script.Script{
							Turns: []script.Turn{
								{Steps: []script.Step{call}},
								{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}},
							},
						},
					)
					defer w.close(t)
					w.layers = append(w.layers, c.layers...)
					run := func(ctx context.Context, call tool.Call, _ toolInput) (tool.Output, error) {
						if err := call.Ask(ctx, c.request); err != nil {
							return tool.Output{}, err
						}
						w.effect("does")
						return says("done")
					}
					if _, err := w.tools.Register(&testTool{tool.Definition{
						Name: "does", Description: "does",
						Schema: jsontext.Value(`{"type":"object"}`),
					}, run}); err != nil {
						t.Fatal(err)
					}
					id := family(t, w, c.above...)[depth]
					if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
						admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: "p"}, Asks: "allow"}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if ran := w.effects["does"] > 0; ran != c.runs {
						t.Errorf("the call ran: %v", ran)
					}
					if answerOf(t, w, id) == "" {
						t.Error("the session does not continue")
					}
				})
			})
		}
	}
}

// A refused command tells the model which part of it cannot be read and how to write it: where a rule denies, where
// asks are denied, and where they end the work.
func TestRefusedCommandSaysHowToWriteIt(t *testing.T) {
	ask := session.Rule{Action: "bash", Resource: "*", Effect: session.Ask}
	for policy, rule := range map[session.AskPolicy]session.Rule{"deny": ask, "fail": ask, "wait:1s": ask} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call := script.Step{Call: &script.Call{ID: "c", Name: "does", Arguments: jsontext.Value(`{}`)}}
				w := newWorld(t, script.Script{Turns: []script.Turn{
					{Steps: []script.Step{call}}, {Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}},
				}})
				defer w.close(t)
				run := func(ctx context.Context, call tool.Call, _ toolInput) (tool.Output, error) {
					return tool.Output{}, call.Ask(ctx, tool.Request{Action: "bash", Resources: []string{"ls; echo $(date)"}})
				}
				does := tool.Definition{Name: "does", Description: "does", Schema: jsontext.Value(`{"type":"object"}`)}
				if _, err := w.tools.Register(&testTool{does, run}); err != nil {
					t.Fatal(err)
				}
				id := family(t, w, rule)[0]
				_, err := w.engine.Commands.AdmitPrompt(
					t.Context(), admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: "p"}, Asks: policy},
				)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second) // of the bubble
				synctest.Wait()
				const want = "contains a command substitution or arithmetic $(...) at byte 10; " +
					"run the inner command first and write its output here"
				if got := failureOf(t, w, id); !strings.Contains(got, want) {
					t.Errorf("the call says %q", got)
				}
			})
		})
	}
}

// failureOf returns the error of the only call of the session.
func failureOf(t *testing.T, w *world, id session.ID) (text string) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		ms, err := store.ReadMessages(r, id, store.MessageQuery{After: -1, Limit: 10})
		for _, m := range ms {
			if a, ok := m.(*session.Assistant); ok {
				for _, p := range a.Content {
					if c, ok := p.(*session.Tool); ok && c.State.Error != nil {
						text = c.State.Error.Message
					}
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
