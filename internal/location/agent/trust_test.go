package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// loadTrusted reads a project whose current files are trusted.
func loadTrusted(t *testing.T, user, project string) *Set {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cairn.json"), []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}
	env := func(k string) string { return map[string]string{"CAIRN_CONFIG_CONTENT": user}[k] }
	judge := &trust.Judge{Store: trust.New(t.TempDir())}
	var cfg *config.Config
	for range 2 { // once for the hash
		var err error
		if cfg, err = config.Load(t.Context(), config.Options{Directory: dir, Env: env, Trust: judge}); err != nil {
			t.Fatal(err)
		}
		judge.Override = cfg.Claim.Hash()
	}
	if !cfg.Trusted {
		t.Fatalf("not trusted: %+v", cfg.Claim)
	}
	return New(cfg, Options{})
}

func TestTrustedProjectLayer(t *testing.T) {
	s := loadTrusted(
		t,
		`{"permission": {"read": "deny"}}`,
		`{"permission": {"bash": "allow", "read": "allow", "edit": "allow"}, "agent": {"plan": {"permission": {"webfetch": `+
			`"allow"}}}}`,
	)
	for _, tt := range []struct {
		agent, action string
		want          session.Effect
	}{
		{"build", "bash", session.Allow},
		{"build", "edit", session.Allow},
		{"plan", "edit", session.Deny},
		{"plan", "webfetch", session.Allow},
		{"build", "read", session.Deny}, // variables are above files
		{"build", "webfetch", session.Ask},
		{"title", "edit", session.Deny},
	} {
		if d := permission.Evaluate(s.AgentLayers(tt.agent), nil, tt.action, "x"); d.Effect != tt.want {
			t.Errorf("%s by %s: %+v, want %s", tt.action, tt.agent, d, tt.want)
		}
	}
}

// An untrusted project's files never loosen a rule.
func TestUntrustedProjectOnlyTightens(t *testing.T) {
	actions, resources := []string{
		"*",
		"bash",
		"edit",
		"read",
		"webfetch",
		"external_directory",
	}, []string{
		"*",
		"x",
		"x*",
		"*.env",
		"/etc/*",
	}
	effects := []session.Effect{session.Allow, session.Ask, session.Deny}
	agents := []string{"build", "plan", "explore", "general", "title", "own"}
	rank := map[session.Effect]int{session.Allow: 0, session.Ask: 1, session.Deny: 2}
	rapid.Check(t, func(r *rapid.T) {
		rules := func(label string) []session.Rule {
			return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) session.Rule {
				return newRule(
					rapid.SampledFrom(actions).Draw(r, "action"),
					rapid.SampledFrom(resources).Draw(r, "resource"),
					rapid.SampledFrom(effects).Draw(r, "effect"),
				)
			}), 0, 4).Draw(r, label)
		}
		document := func(label string) string {
			raw, err := json.Marshal(map[string]any{
				"permissions": rules(label),
				"agents": map[string]any{
					rapid.SampledFrom(agents).Draw(r, label+" agent"): map[string]any{
						"permissions": rules(label + " of agent"),
					},
				},
			})
			if err != nil {
				r.Fatal(err)
			}
			return string(raw)
		}
		user, project := document("user"), document("project")
		base, with := set(t, user, ""), set(t, user, project)
		for _, name := range agents[:5] {
			for _, action := range actions[1:] {
				for _, resource := range []string{"x", "xy", "a.env", "/etc/passwd"} {
					before := permission.Evaluate(base.AgentLayers(name), nil, action, resource).Effect
					after := permission.Evaluate(with.AgentLayers(name), nil, action, resource).Effect
					if rank[after] < rank[before] {
						r.Fatalf("%s %s by %s: %s became %s\nuser %s\nproject %s", action, resource, name, before, after, user, project)
					}
				}
			}
		}
	})
}

// What an untrusted document denies to all, it may allow to an agent, as far as the others allow it.
func TestUntrustedProjectAllowsWhatItDenied(t *testing.T) {
	s := set(
		t,
		`{"permission": {"webfetch": "allow"}}`,
		`{"permission": {"task": "deny", "webfetch": "deny", "bash": "deny", "read": "ask"}, "agent": {"general": {"permission": `+
			`{"task": "allow", "webfetch": "allow", "bash": "allow", "edit": "allow"}}}}`,
	)
	for _, tt := range []struct {
		agent, action string
		want          session.Effect
	}{
		{"build", "task", session.Deny},
		{"build", "webfetch", session.Deny},
		{"general", "webfetch", session.Allow},
		{"general", "bash", session.Ask}, // as without the project
		{"general", "edit", session.Ask},
		{"general", "read", session.Ask},
	} {
		layers := s.AgentLayers(tt.agent)
		if d := permission.Evaluate(layers, nil, tt.action, "x"); d.Effect != tt.want {
			t.Errorf("%s by %s: %+v, want %s", tt.action, tt.agent, d, tt.want)
		}
		if is, want := permission.IsHidden(layers, tt.action), tt.want == session.Deny; is != want {
			t.Errorf("%s by %s: hidden %t, want %t", tt.action, tt.agent, is, want)
		}
	}
}
