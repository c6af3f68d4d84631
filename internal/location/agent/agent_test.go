package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// load reads a configuration of the user's and one of the project's.
func load(t *testing.T, user, project string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	if project != "" {
		if err := os.WriteFile(filepath.Join(dir, "cairn.json"), []byte(project), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"CAIRN_CONFIG_CONTENT": user}
	cfg, err := config.Load(t.Context(), config.Options{Directory: dir, Env: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func set(t *testing.T, user, project string) *Set {
	t.Helper()
	return New(load(t, user, project), Options{Allowed: []string{"/data/out*put", "/tmp/cairn"}, Plans: "/data/pl?ns"})
}

func names(s *Set) string {
	var out []string
	for _, a := range s.List() {
		out = append(out, a.ID)
	}
	return strings.Join(out, " ")
}

func TestBuiltins(t *testing.T) {
	s := set(t, "", "")
	if got := names(s); got != "build compaction explore general plan summary title" {
		t.Errorf("got %s", got)
	}
	for _, a := range s.List() {
		if a.System == "" || a.Permissions == nil || a.Request.Headers == nil || a.Request.Body == nil || a.Mode == "" {
			t.Errorf("%s is incomplete: %+v", a.ID, a)
		}
		if lines := strings.Count(a.System, "\n") + 1; lines > 60 {
			t.Errorf("the prompt of %s has %d lines", a.ID, lines)
		}
		if !a.Hidden && !strings.Contains(a.System, "<system-update>") {
			t.Errorf("the prompt of %s does not say what updates of the context are", a.ID)
		}
		if a.Description == "" && !a.Hidden {
			t.Errorf("%s has no description", a.ID)
		}
	}
	if a, ok := s.Default(); !ok || a.ID != "build" || len(s.Warnings()) > 0 {
		t.Errorf("default %s, %v", a.ID, s.Warnings())
	}
}

// TestBuiltinFields checks the fields of built-in agents that clients see.
func TestBuiltinFields(t *testing.T) {
	type fields struct {
		Mode        session.AgentMode
		Hidden      bool
		Selectable  bool
		Temperature string
	}
	want := map[string]fields{
		"build":      {session.ModePrimary, false, true, ""},
		"plan":       {session.ModePrimary, false, true, ""},
		"general":    {session.ModeSubagent, false, false, ""},
		"explore":    {session.ModeSubagent, false, false, ""},
		"title":      {session.ModePrimary, true, false, "0.5"},
		"summary":    {session.ModePrimary, true, false, ""},
		"compaction": {session.ModePrimary, true, false, ""},
	}
	got := map[string]fields{}
	for _, a := range set(t, "", "").List() {
		got[a.ID] = fields{a.Mode, a.Hidden, a.IsSelectable(), string(a.Request.Body["temperature"])}
		if a.Model != nil || a.Steps != 0 || a.Color != "" || !IsBuiltin(a.ID) {
			t.Errorf("%s: %+v", a.ID, a)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{Title, Summary, Compaction} {
		for _, action := range []string{
			"read", "edit", "bash", "question", "task", "external_directory", "webfetch",
			"todowrite", "skill", "x_y",
		} {
			if d := permission.Evaluate(set(t, `{"permission": "allow"}`, "").AgentLayers(name), nil, action,
				"a"); d.Effect != session.Deny {
				t.Errorf("%s: %s is %s", name, action, d.Effect)
			}
		}
	}
}

func TestEffects(t *testing.T) {
	const (
		allow = session.Allow
		ask   = session.Ask
		deny  = session.Deny
	)
	tests := []struct {
		name, user, project     string
		agent, action, resource string
		want                    session.Effect
	}{
		{"reading is allowed", "", "", "build", "read", "main.go", allow},
		{"searching is allowed", "", "", "build", "grep", "x.*", allow},
		{"edits ask", "", "", "build", "edit", "main.go", ask},
		{"commands ask", "", "", "build", "bash", "ls", ask},
		{"the web asks", "", "", "build", "webfetch", "https://x", ask},
		{"secrets ask", "", "", "build", "read", "sub/.env", ask},
		{"secrets ask, suffixed", "", "", "build", "read", ".env.local", ask},
		{"an example file is not secret", "", "", "build", "read", ".env.example", allow},
		{"outside asks", "", "", "build", "external_directory", "/etc/*", ask},
		{"managed output is ours", "", "", "build", "external_directory", "/data/out*put/*", allow},
		{"managed output is taken literally", "", "", "build", "external_directory", "/data/outXput/*", ask},
		{"build may ask questions", "", "", "build", "question", "*", allow},
		{"general may not", "", "", "general", "question", "*", deny},
		{"general has no list", "", "", "general", "todowrite", "*", deny},
		{"plan does not edit", "", "", "plan", "edit", "main.go", deny},
		{"plan writes plans", "", "", "plan", "edit", ".cairn/plans/a.md", allow},
		{"plan writes plans where OpenCode's are", "", "", "plan", "edit", ".opencode/plans/a.md", allow},
		{"plan writes plans of no project", "", "", "plan", "edit", "/data/pl?ns/a.md", allow},
		{"plan reaches them", "", "", "plan", "external_directory", "/data/pl?ns/*", allow},
		{"plan takes them literally", "", "", "plan", "edit", "/data/plans/a.md", deny},
		{"plan writes nothing but plans there", "", "", "plan", "edit", "/data/pl?ns/a.sh", deny},
		{"plan writes no plans elsewhere", "", "", "plan", "edit", "sub/.cairn/plans/a.md", deny},
		{"plan asks before commands", "", "", "plan", "bash", "ls", ask},
		{"build does not reach them", "", "", "build", "external_directory", "/data/pl?ns/*", ask},
		{"plan may end planning", "", "", "plan", "plan_exit", "*", allow},
		{"build may begin to plan", "", "", "build", "plan_enter", "*", allow},
		{"general may do neither", "", "", "general", "plan_enter", "*", deny},
		{"explore lists", "", "", "explore", "list", ".", allow},
		{"explore searches", "", "", "explore", "grep", "x", allow},
		{"explore looks for names", "", "", "explore", "glob", "*", allow},
		{"explore edits nothing", "", "", "explore", "edit", ".cairn/plans/a.md", deny},
		{"explore keeps no list", "", "", "explore", "todowrite", "*", deny},
		{"explore starts no agents", "", "", "explore", "task", "general", deny},
		{"explore asks no questions", "", "", "explore", "question", "*", deny},
		{"explore loads no skills", "", "", "explore", "skill", "x", deny},
		{"explore and what lies outside", "", "", "explore", "external_directory", "/etc/*", ask},
		{"a loop asks", "", "", "build", "doom_loop", "bash", ask},
		{"plan calls explore", "", "", "plan", "task", "explore", allow},
		{"plan does not call general", "", "", "plan", "task", "general", deny},
		{"explore reads", "", "", "explore", "read", "a", allow},
		{"explore and secrets", "", "", "explore", "read", ".env", ask},
		{"explore and managed output", "", "", "explore", "external_directory", "/tmp/cairn/*", allow},
		{"explore runs nothing", "", "", "explore", "bash", "ls", deny},
		{"explore asks before the web", "", "", "explore", "webfetch", "u", ask},
		{"title does nothing", "", "", "title", "read", "a", deny},
		{"an unknown agent does nothing", "", "", "unknown", "read", "a", deny},
		{"a custom agent has the defaults", `{"agent": {"mine": {}}}`, "", "mine", "edit", "a", ask},

		{"the user allows", `{"permission": {"edit": "allow"}}`, "", "build", "edit", "a", allow},
		{
			"a broad allow does not reach plan",
			`{"permission": {"edit": "allow", "*": "allow"}}`,
			"",
			"plan",
			"edit",
			"a",
			deny,
		},
		{"a broad allow does not reach explore", `{"permission": "allow"}`, "", "explore", "bash", "ls", deny},
		{"a broad allow reaches the web for explore", `{"permission": "allow"}`, "", "explore", "webfetch", "u", allow},
		{
			"words about plan do",
			`{"agent": {"plan": {"permission": {"edit": "allow"}}}}`,
			"",
			"plan",
			"edit",
			"a",
			allow,
		},
		{
			"words about an agent beat those about all",
			`{"permission": {"bash": "allow"}, "agent": {"build": {"permission": {"bash": "ask"}}}}`,
			"",
			"build",
			"bash",
			"ls",
			ask,
		},
		{
			"a deny about an agent holds",
			`{"permission": {"bash": "allow"}, "agent": {"build": {"permission": {"bash": {"*": "deny", "ls *": "allow"}}}}}`,
			"",
			"build",
			"bash",
			"rm",
			deny,
		},
		{
			"with its exception",
			`{"agent": {"build": {"permission": {"bash": {"*": "deny", "ls *": "allow"}}}}}`,
			"",
			"build",
			"bash",
			"ls -l",
			allow,
		},

		{
			"a project forbids",
			`{"permission": {"bash": "allow"}}`,
			`{"permission": {"bash": {"*": "deny", "go *": "allow"}}}`,
			"build",
			"bash",
			"rm",
			deny,
		},
		{
			"and excepts from that",
			`{"permission": {"bash": "allow"}}`,
			`{"permission": {"bash": {"*": "deny", "go *": "allow"}}}`,
			"build",
			"bash",
			"go test",
			allow,
		},
		{"a project does not allow", "", `{"permission": "allow"}`, "build", "bash", "ls", ask},
		{
			"nor lift a deny by asking",
			`{"permission": {"bash": "deny"}}`,
			`{"permission": {"bash": "ask"}}`,
			"build",
			"bash",
			"ls",
			deny,
		},
		{
			"nor for an agent",
			"",
			`{"agent": {"plan": {"permission": {"edit": "allow"}}, "new": {"permission": "allow"}}}`,
			"plan",
			"edit",
			"a",
			deny,
		},
		{"nor for its own agent", "", `{"agent": {"new": {"permission": "allow"}}}`, "new", "bash", "ls", ask},
		{
			"a project forbids an agent",
			"",
			`{"agent": {"build": {"permission": {"read": "deny"}}}}`,
			"build",
			"read",
			"a",
			deny,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := permission.Evaluate(set(t, tt.user, tt.project).AgentLayers(tt.agent), nil, tt.action, tt.resource)
			if d.Effect != tt.want {
				t.Errorf("%s %s by %s: %s (%+v), want %s", tt.action, tt.resource, tt.agent, d.Effect, d, tt.want)
			}
		})
	}
}

func TestApprovalsDoNotLiftWhatIsForbidden(t *testing.T) {
	s := set(t, "", "")
	approved := []session.Rule{newRule("edit", "*", session.Allow)}
	for agent, want := range map[string]session.Effect{"build": session.Allow, "plan": session.Deny} {
		if d := permission.Evaluate(s.AgentLayers(agent), approved, "edit", "a"); d.Effect != want {
			t.Errorf("%s: %s, want %s", agent, d.Effect, want)
		}
	}
	for action, want := range map[string]bool{"edit": false, "bash": false} {
		if got := permission.IsHidden(s.AgentLayers("build"), action); got != want {
			t.Errorf("build: %s hidden: %v", action, got)
		}
	}
	if !permission.IsHidden(s.AgentLayers("title"), "read") ||
		permission.IsHidden(s.AgentLayers("title"), "read") == permission.IsHidden(s.AgentLayers("build"), "read") {
		t.Error("title is shown tools")
	}
}

func TestConfigurationChangesAgents(t *testing.T) {
	s := set(t, `{
		"default_agent": "review",
		"agent": {
			"general": {"disable": true},
			"build": {"model": "openai/gpt-x", "variant": "high", "temperature": 0.2, "steps": 9, "reasoningEffort": "low", "options": {"store": false}},
			"review": {"prompt": "Review.", "description": "Reviews.", "mode": "primary", "color": "#ff0000",
				"request": {"headers": {"X-A": "b"}, "body": {"seed": 1}}, "permission": {"edit": "deny"}},
		},
	}`, "")
	if got := names(s); got != "review build compaction explore plan summary title" {
		t.Errorf("got %s", got)
	}
	review, err := s.Get("review")
	if err != nil {
		t.Fatal(err)
	}
	want := session.Agent{
		ID: "review", System: "Review.", Description: "Reviews.", Mode: session.ModePrimary, Color: "#ff0000",
		Permissions: []session.Rule{newRule("edit", "*", session.Deny)},
	}
	want.Request.Headers = map[string]string{"X-A": "b"}
	want.Request.Body = review.Request.Body
	if diff := cmp.Diff(want, review); diff != "" || string(review.Request.Body["seed"]) != "1" {
		t.Error(diff)
	}
	build, err := s.Get("build")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&session.ModelRef{ProviderID: "openai", ID: "gpt-x", Variant: "high"}, build.Model); diff != "" ||
		build.Steps != 9 {
		t.Error(diff)
	}
	got := map[string]string{}
	for k, v := range build.Request.Body {
		got[k] = string(v)
	}
	if diff := cmp.Diff(map[string]string{"temperature": "0.2", "reasoningEffort": `"low"`, "store": "false"},
		got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Get("general"); err == nil {
		t.Error("a disabled agent is there")
	}
	if d := permission.Evaluate(s.AgentLayers("general"), nil, "read", "a"); d.Effect != session.Deny {
		t.Error("a disabled agent may read")
	}
}

func TestInvalidDefaultAgent(t *testing.T) {
	for _, name := range []string{"biuld", "title", "general"} {
		s := set(t, `{"default_agent": "`+name+`"}`, "")
		a, ok := s.Default()
		if !ok || a.ID != "build" || len(s.Warnings()) != 1 ||
			s.Warnings()[0].Position.String() != "CAIRN_CONFIG_CONTENT:1:19" {
			t.Errorf("%s: %s, %v", name, a.ID, s.Warnings())
		}
	}
	s := set(t, `{"agent": {"build": {"disable": true}, "plan": {"hidden": true}}}`, "")
	if a, ok := s.Default(); ok {
		t.Errorf("no agent may be selected, got %s", a.ID)
	}
}

func TestUnknownAgent(t *testing.T) {
	_, err := set(t, "", "").Get("biuld")
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeNotFound || e.Kind != "agent" || !cmp.Equal(e.Nearest, []string{"build"}) {
		t.Errorf("got %v", err)
	}
	_, err = set(t, "", "").Get("zzzzzzzz")
	if e, ok := errors.AsType[*session.Error](err); !ok || !cmp.Equal(e.Nearest, []string{"build", "plan"}) {
		t.Errorf("got %v", err)
	}
	_, err = set(t, "", "").Get("titel")
	if e, ok := errors.AsType[*session.Error](err); !ok || cmp.Equal(e.Nearest, []string{"title"}) {
		t.Errorf("a hidden agent is offered: %v", err)
	}
}

// An approval for every file and command, and the user's own rules, change nothing in what plan may write.
func TestPlanWritesNothingApproved(t *testing.T) {
	s := set(t, `{"permission": {"edit": "allow", "bash": "allow"}}`, "")
	saved := []session.Rule{{Action: "edit", Resource: "*", Effect: session.Allow}}
	layers := s.AgentLayers(session.AgentPlan)
	if d := permission.Evaluate(layers, saved, "edit", "main.go"); d.Effect != session.Deny {
		t.Errorf("plan: edit is %s", d.Effect)
	}
	child := append(s.AgentLayers(session.AgentBuild), permission.AsCeiling(layers)...)
	if d := permission.Evaluate(child, saved, "edit", "main.go"); d.Effect != session.Deny {
		t.Errorf("build below plan: edit is %s", d.Effect)
	}
}
