package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

// family creates three sessions, each the parent of the next, with one rule each.
func family(t *testing.T, w *world, rules ...session.Rule) []session.ID {
	t.Helper()
	ids := []session.ID{"ses_top", "ses_child", "ses_grandchild"}
	free := []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	for depth, id := range ids {
		r := admit.CreateRequest{ID: id, Title: "t", Location: session.Location{Directory: "/w"}, Permission: free}
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
			if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
				admit.PromptRequest{SessionID: ids[2], Prompt: session.Prompt{Text: "p"}, Asks: "fail"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if prompt(); w.effects["t"] != 1 {
			t.Errorf("an allowed call ran %d times", w.effects["t"])
		}
		rules := []session.Rule{{Action: "edit", Resource: "a", Effect: session.Deny}}
		if err := w.engine.Commands.ChangeSession(t.Context(), ids[0],
			admit.SessionChange{Permission: &rules}); err != nil {
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
			admit.CreateRequest{Location: session.Location{Directory: "/w"}, Open: c.open},
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

// A command is confined at least as strictly as one of the parent session would be, whichever agent that has now.
func TestSandboxNeverLoosensDownwards(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	w.agents["careful"] = session.Agent{ID: "careful", Mode: session.ModePrimary}
	w.sandboxes = map[string]session.SandboxMode{"careful": session.SandboxStrict}
	ids := family(t, w)
	if _, err := w.tools.Register(commands()); err != nil {
		t.Fatal("register the tool:", err)
	}
	confinement := func() session.SandboxMode {
		t.Helper()
		s, err := w.engine.journal.ReadSession(t.Context(), ids[2])
		if err != nil {
			t.Fatal("read the session:", err)
		}
		scope, release, err := w.Scope(t.Context(), s.Location)
		if err != nil {
			t.Fatal("read the location:", err)
		}
		defer release()
		by := ask.Asker{SessionID: s.ID, Agent: "build", Layers: w.layers}
		c, err := w.engine.Asks.ChooseConfinement(t.Context(), by, scope, s)
		if err != nil {
			t.Fatal("choose the confinement:", err)
		}
		sh, err := w.engine.Commands.RunShell(t.Context(), admit.ShellRequest{SessionID: s.ID, Command: "confinement"})
		want := c.Mode
		if c.IfPossible { // no mode is stored or configured, and the user typed it
			want = session.SandboxOff
		}
		if err != nil || sh.Output != string(want) {
			t.Errorf("a command of the user is confined by %+v, that of the model by %q (%v)", sh, c.Mode, err)
		}
		return c.Mode
	}
	if got := confinement(); got != session.SandboxWrites {
		t.Errorf("by default the mode is %q", got)
	}
	if err := w.engine.Commands.SwitchAgent(t.Context(), ids[0], "careful"); err != nil {
		t.Fatal("switch the agent:", err)
	}
	if got := confinement(); got != session.SandboxStrict {
		t.Errorf("below a session in strict the mode is %q", got)
	}
}

// A command runs outside of the sandbox only if a person approved its text now: no rule, saved approval or policy.
func TestApprovalNowLiftsTheSandbox(t *testing.T) {
	for name, c := range map[string]struct {
		rule   session.Effect
		policy session.AskPolicy
		reply  session.Reply
		want   string // the modes of two equal calls
	}{
		"rule":   {rule: session.Allow, want: "writes writes"},
		"policy": {rule: session.Ask, policy: "allow", want: "writes unread writes unread"},
		"once":   {rule: session.Ask, reply: session.ReplyOnce, want: "off off"},
		"always": {rule: session.Ask, reply: session.ReplyAlways, want: "off writes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := script.Step{Call: &script.Call{ID: "c", Name: "does", Arguments: jsontext.Value(`{}`)}}
				w := newWorld(t, script.Script{Turns: []script.Turn{
					{Steps: []script.Step{step}},
					{Steps: []script.Step{step}},
					{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}},
				}})
				defer w.close(t)
				var modes []string
				run := func(ctx context.Context, call tool.Call, _ toolInput) (tool.Output, error) {
					err := call.Ask(ctx, tool.Request{Action: "bash", Resources: []string{"x"}, Save: []string{"x"}})
					if err != nil {
						return tool.Output{}, err
					}
					if c.policy != "" {
						err = call.Ask(ctx, tool.Request{Action: "edit", Resources: []string{".git/config"}})
					}
					if err != nil {
						return tool.Output{}, err
					}
					as, err := call.Confine(ctx)
					if modes = append(modes, string(as.Mode)); as.Unread {
						modes = append(modes, "unread")
					}
					if err != nil {
						return tool.Output{}, err
					}
					return says("done")
				}
				does := tool.Definition{Name: "does", Description: "does", Schema: jsontext.Value(`{"type":"object"}`)}
				if _, err := w.tools.Register(&testTool{does, run}); err != nil {
					t.Fatal(err)
				}
				id := family(t, w, session.Rule{Action: "bash", Resource: "*", Effect: c.rule})[0]
				if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
					admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: "p"}, Asks: c.policy}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for c.reply != "" {
					pending, err := w.engine.Asks.List(t.Context(), id)
					if err != nil || len(pending) == 0 {
						break
					}
					if err := w.engine.Asks.Reply(t.Context(), id, pending[0].ID, ask.UserReply{Reply: c.reply}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if got := strings.Join(modes, " "); got != c.want {
					t.Errorf("the modes are %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A path outside is permitted for a command by a person, a saved approval or a rule that names it, not by a rule for
// everything or a policy.
func TestPermittedDirectories(t *testing.T) {
	named := session.Rule{Action: permission.Outside, Resource: "/o/*", Effect: session.Allow}
	asks := session.Rule{Action: permission.Outside, Resource: "*", Effect: session.Ask}
	for name, c := range map[string]struct {
		rule   session.Rule
		policy session.AskPolicy
		reply  session.Reply
		want   bool
	}{
		"everything": {rule: session.Rule{Action: "*", Resource: "*", Effect: session.Allow}},
		"named":      {rule: named, want: true},
		"policy":     {rule: asks, policy: "allow"},
		"person":     {rule: asks, reply: session.ReplyOnce, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := script.Step{Call: &script.Call{ID: "c", Name: "does", Arguments: jsontext.Value(`{}`)}}
				w := newWorld(t, script.Script{Turns: []script.Turn{
					{Steps: []script.Step{step}}, {Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}},
				}})
				defer w.close(t)
				ran, permitted := false, false
				run := func(ctx context.Context, call tool.Call, _ toolInput) (tool.Output, error) {
					if err := call.Ask(ctx, tool.Request{Action: permission.Outside, Resources: []string{"/o/*"}}); err != nil {
						return tool.Output{}, err
					}
					as, err := call.Confine(ctx)
					if err != nil {
						return tool.Output{}, err
					}
					ran, permitted = true, as.Outside
					return says("done")
				}
				does := tool.Definition{Name: "does", Description: "does", Schema: jsontext.Value(`{"type":"object"}`)}
				if _, err := w.tools.Register(&testTool{does, run}); err != nil {
					t.Fatal(err)
				}
				id := family(t, w, c.rule)[0]
				if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
					admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: "p"}, Asks: c.policy}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.reply != "" {
					pending, err := w.engine.Asks.List(t.Context(), id)
					if err != nil || len(pending) != 1 {
						t.Fatal(pending, err)
					}
					if err := w.engine.Asks.Reply(t.Context(), id, pending[0].ID, ask.UserReply{Reply: c.reply}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if !ran || permitted != c.want {
					t.Errorf("ran %v, permitted %v", ran, permitted)
				}
			})
		})
	}
}

// A fork of a child session has no parent, so it gets no right that only the parent limited: it is open for callers who
// could create such a session, and keeps what the ancestors' rules deny and ask.
func TestForkOfChildSession(t *testing.T) {
	ask := session.Rule{Action: "bash", Resource: "*", Effect: session.Ask}
	deny := session.Rule{Action: "webfetch", Resource: "*", Effect: session.Deny}
	allow := session.Rule{Action: "webfetch", Resource: "*", Effect: session.Allow}
	w := newWorld(t, script.Script{})
	defer w.close(t)
	at := session.Location{Directory: "/w"}
	for _, r := range []admit.CreateRequest{
		{ID: "ses_a", Location: at, Open: true, Permission: []session.Rule{ask, deny}},
		{ID: "ses_b", Location: at, Open: true, ParentID: "ses_a", Permission: []session.Rule{allow}},
	} {
		if _, err := w.engine.Commands.CreateSession(t.Context(), r); err != nil {
			t.Fatal("create the session:", err)
		}
	}
	for role, isOpen := range map[caller.Role]bool{caller.Prompt: false, caller.Approve: true} {
		ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Role: role})
		s, err := w.engine.Commands.ForkSession(ctx, "ses_b", admit.CopyEnd{})
		if err != nil {
			t.Fatal("fork the child:", err)
		}
		if s.Open != isOpen || !slices.Equal(s.Permission, []session.Rule{ask, deny}) {
			t.Errorf("with the scope %s the fork is open: %v, with the rules %v", role, s.Open, s.Permission)
		}
		for action, want := range map[string]session.Effect{"bash": session.Ask, "webfetch": session.Deny} {
			asked := session.PendingAsk{Action: action, Resources: []string{"a"}}
			got, _, err := w.engine.Asks.AskExternally(t.Context(), s.ID, asked)
			if err != nil || got != want {
				t.Errorf("with the scope %s: %s is %s, want %s (%v)", role, action, got, want, err)
			}
		}
	}
}

// Callers who may not approve may only tighten a session's rules.
func TestRulesAreTightenedByAll(t *testing.T) {
	rule := func(effect session.Effect, action, resource string) session.Rule {
		return session.Rule{Action: action, Resource: resource, Effect: effect}
	}
	ask, deny := rule(session.Ask, "bash", "*"), rule(session.Deny, "webfetch", "*")
	for name, c := range map[string]struct {
		rules []session.Rule
		ok    bool
	}{
		"the same":                    {[]session.Rule{ask, deny}, true},
		"one more denied":             {[]session.Rule{ask, deny, rule(session.Deny, "task", "*")}, true},
		"denied instead of asked":     {[]session.Rule{deny, rule(session.Deny, "bash", "*")}, true},
		"partly denied instead":       {[]session.Rule{deny, rule(session.Deny, "bash", "ls")}, false},
		"another denied instead":      {[]session.Rule{ask, rule(session.Deny, "task", "*")}, false},
		"another order":               {[]session.Rule{deny, ask}, false},
		"none":                        {nil, false},
		"one more allowed":            {[]session.Rule{ask, deny, rule(session.Allow, "task", "*")}, false},
		"one more asked":              {[]session.Rule{ask, deny, rule(session.Ask, "webfetch", "*")}, false},
		"a denied one allowed before": {[]session.Rule{rule(session.Allow, "task", "*"), ask, deny}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script.Script{})
			defer w.close(t)
			if _, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
				ID: "ses_a", Location: session.Location{Directory: "/w"}, Permission: []session.Rule{ask, deny},
			}); err != nil {
				t.Fatal("create the session:", err)
			}
			ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Role: caller.Prompt})
			err := w.engine.Commands.ChangeSession(ctx, "ses_a", admit.SessionChange{Permission: &c.rules})
			if c.ok != (err == nil) || err != nil && !errors.Is(err, &session.Error{Code: session.CodeDenied}) {
				t.Errorf("%v, want success %t", err, c.ok)
			}
		})
	}
}

// A session that begins as a copy begins in the sandbox of new sessions.
func TestCopiesBeginInTheSandbox(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	family(t, w)
	w.newSandbox = session.SandboxWrites
	w.sandboxes = map[string]session.SandboxMode{"build": session.SandboxStrict}
	forked, err := w.engine.Commands.ForkSession(t.Context(), "ses_top", admit.CopyEnd{})
	if err != nil || forked.Sandbox != session.SandboxStrict {
		t.Errorf("a fork: %+v, %v", forked, err)
	}
	r := importOf("h", 0)
	r.Session.Sandbox = session.SandboxOff
	imported, err := w.engine.Commands.ImportSession(t.Context(), r)
	if err != nil || imported.Session.Sandbox != session.SandboxStrict {
		t.Errorf("an import: %+v, %v", imported, err)
	}
}

// A forced revert replaces what others wrote, and protected files, without an ask: it is for callers who may approve.
func TestForcedRevertsAreOfApprovers(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	ids := family(t, w)
	forced := undo.Target{Point: undo.Point{MessageID: "msg_none", Files: true, Force: true}}
	weak := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Role: caller.Prompt})
	for ctx, want := range map[context.Context]session.Code{
		weak: session.CodeDenied, t.Context(): session.CodeNotFound,
	} {
		if _, err := w.engine.Commands.StageRevert(ctx, ids[0], forced); !errors.Is(err, &session.Error{Code: want}) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The text of a prompt whose asks are allowed is that of a caller who may allow them.
func TestPromptsThatAllowAreEditedByApprovers(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	ids := family(t, w)
	admitPrompt := func(policy session.AskPolicy) session.MessageID {
		t.Helper()
		in, err := w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
			SessionID: ids[0], Prompt: session.Prompt{Text: "p"}, Hold: true, Asks: policy,
		})
		if err != nil {
			t.Fatal("prompt the session:", err)
		}
		return in.ID
	}
	allowed, plain := admitPrompt("allow"), admitPrompt("")
	change := session.Prompt{Text: "other"}
	edits := map[string]func(context.Context, session.MessageID) error{
		"inbox": func(ctx context.Context, m session.MessageID) error {
			return w.engine.Commands.ChangePrompt(ctx, ids[0], m, admit.PromptChange{Prompt: &change})
		},
		"message": func(ctx context.Context, m session.MessageID) error {
			return w.engine.Commands.EditPrompt(ctx, ids[0], m, "", change)
		},
	}
	for name, edit := range edits {
		weak := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Role: caller.Prompt})
		if err := edit(weak, allowed); !errors.Is(err, &session.Error{Code: session.CodeDenied}) {
			t.Errorf("%s: a caller with the scope prompt: %v", name, err)
		}
		if err := cmp.Or(edit(weak, plain), edit(t.Context(), allowed)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
