package engine

import (
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// family creates three sessions, each the parent of the next, with one rule each.
func family(t *testing.T, w *world, rules ...session.Rule) []session.ID {
	t.Helper()
	ids := []session.ID{"ses_top", "ses_child", "ses_grandchild"}
	free := []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	for depth, id := range ids {
		r := command.CreateRequest{ID: id, Title: "t", Location: session.Location{Directory: "/w"}, Permission: free}
		if depth > 0 {
			r.ParentID = ids[depth-1]
		}
		if depth < len(rules) {
			r.Permission = append(free[:1:1], rules[depth])
		}
		if _, err := w.engine.Commands.CreateSession(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// No session may do what an ancestor may not, at any depth, whatever its own rules allow.
func TestRightsNeverGrowDownwards(t *testing.T) {
	top := session.Rule{Action: "edit", Resource: "*", Effect: session.Deny}
	middle := session.Rule{Action: "bash", Resource: "*", Effect: session.Ask}
	w := newWorld(t, script.Script{})
	defer w.close(t)
	ids := family(t, w, top, middle)
	for _, c := range []struct {
		depth  int
		action string
		want   session.Effect
	}{
		{0, "edit", session.Deny},
		{1, "edit", session.Deny},
		{2, "edit", session.Deny},
		{0, "bash", session.Allow},
		{1, "bash", session.Ask},
		{2, "bash", session.Ask},
		{0, "read", session.Allow},
		{2, "read", session.Allow},
	} {
		got, _, err := w.engine.Asks.AskExternally(
			t.Context(),
			ids[c.depth],
			session.PendingAsk{Action: c.action, Resources: []string{"a"}},
		)
		if err != nil || got != c.want {
			t.Errorf("depth %d: %s is %s, want %s (%v)", c.depth, c.action, got, c.want, err)
		}
	}
}

// The current rules of the topmost session decide about a call two levels below.
func TestRightsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edit := script.Step{
			Call: &script.Call{ID: "c", Name: "edit", Arguments: jsontext.Value(`{"path":"a","token":"t"}`)},
		}
		ok := script.Turn{Steps: []script.Step{{Text: script.Chunks{"ok"}}}}
		w := newWorld(
			t,
			script.Script{Turns: []script.Turn{{Steps: []script.Step{edit}}, ok, {Steps: []script.Step{edit}}, ok}},
		)
		defer w.close(t)
		ids := family(t, w)
		prompt := func() {
			if _, err := w.engine.Commands.AdmitPrompt(t.Context(), command.PromptRequest{SessionID: ids[2], Prompt: session.Prompt{Text: "p"}, Asks: "fail"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if prompt(); w.effects["t"] != 1 {
			t.Errorf("an allowed call ran %d times", w.effects["t"])
		}
		rules := []session.Rule{{Action: "edit", Resource: "a", Effect: session.Deny}}
		if err := w.engine.Commands.ChangeSession(t.Context(), ids[0], command.SessionChange{Permission: &rules}); err != nil {
			t.Fatal(err)
		}
		if prompt(); w.effects["t"] != 1 {
			t.Error("a call ran that the topmost session denies")
		}
	})
}

// An open session allows what only the built-in defaults ask about. Configured rules apply as always.
func TestOpenSessions(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	w.layers = append(
		w.layers[:0:0],
		permission.Layer{Name: "defaults", Rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Ask}}},
		permission.Layer{
			Name:  "user",
			Rules: []session.Rule{{Action: "bash", Resource: "rm *", Effect: session.Deny}},
		},
	)
	for _, c := range []struct {
		open             bool
		action, resource string
		want             session.Effect
	}{
		{false, "edit", "a.go", session.Ask},
		{true, "edit", "a.go", session.Allow},
		{true, "bash", "make", session.Allow},
		{true, "bash", "rm x", session.Deny},
		{true, "external_directory", "/etc/*", session.Ask},
	} {
		s, err := w.engine.Commands.CreateSession(
			t.Context(),
			command.CreateRequest{Location: session.Location{Directory: "/w"}, Open: c.open},
		)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := w.engine.Asks.AskExternally(
			t.Context(),
			s.ID,
			session.PendingAsk{Action: c.action, Resources: []string{c.resource}},
		)
		if err != nil || got != c.want {
			t.Errorf("open %v: %s %s is %s, want %s (%v)", c.open, c.action, c.resource, got, c.want, err)
		}
	}
}
