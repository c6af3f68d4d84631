package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// rules reads "action resource effect" lines.
func rules(lines ...string) []session.Rule {
	var out []session.Rule
	for _, l := range lines {
		f := strings.Split(l, " | ")
		out = append(out, session.Rule{Action: f[0], Resource: f[1], Effect: session.Effect(f[2])})
	}
	return out
}

func layer(name string, lines ...string) permission.Layer {
	return permission.Layer{Name: name, Source: name + ".json", Rules: rules(lines...)}
}

func strict(name string, lines ...string) permission.Layer {
	l := ceiling(name, lines...)
	l.Strict = true
	return l
}

func ceiling(name string, lines ...string) permission.Layer {
	l := layer(name, lines...)
	l.Ceiling = true
	return l
}

func TestEvaluate(t *testing.T) {
	type layers = []permission.Layer
	for _, c := range []struct {
		name      string
		layers    layers
		approvals []session.Rule
		action    string
		resource  string
		want      session.Effect
		layer     string
	}{
		{name: "nothing matches", action: "read", resource: "a", want: session.Ask},
		{
			name: "other action", layers: layers{layer("d", "edit | * | allow")}, action: "read", resource: "a",
			want: session.Ask,
		},
		{
			name: "last rule wins", layers: layers{layer("d", "read | * | allow", "read | *.env | deny", "read | a.env | ask")},
			action: "read", resource: "a.env", want: session.Ask, layer: "d",
		},
		{
			name: "an earlier rule does not", layers: layers{layer("d", "read | *.env | deny", "read | * | allow")},
			action: "read", resource: "a.env", want: session.Allow, layer: "d",
		},
		{
			name: "later layer wins", layers: layers{layer("d", "read | * | deny"), layer("user", "read | docs/* | allow")},
			action: "read", resource: "docs/a/b", want: session.Allow, layer: "user",
		},
		{
			name:   "later layer without a match",
			layers: layers{layer("d", "read | * | deny"), layer("user", "read | docs/* | allow")}, action: "read",
			resource: "src/a", want: session.Deny, layer: "d",
		},
		{
			name: "action wildcard", layers: layers{layer("d", "* | * | allow")}, action: "anything", resource: "x",
			want: session.Allow, layer: "d",
		},
		{
			name: "action prefix", layers: layers{layer("d", "mcp_* | * | allow")}, action: "mcp_x", resource: "x",
			want: session.Allow, layer: "d",
		},

		{
			name: "approval lifts ask", layers: layers{layer("d", "bash | * | ask")},
			approvals: rules("bash | git status | allow"), action: "bash", resource: "git status", want: session.Allow,
			layer: "approval",
		},
		{
			name: "approval lifts nothing", approvals: rules("bash | * | allow"), action: "bash", resource: "x",
			want: session.Allow, layer: "approval",
		},
		{
			name: "approval never beats deny", layers: layers{layer("d", "bash | rm * | deny")},
			approvals: rules("bash | * | allow", "bash | rm x | allow"), action: "bash", resource: "rm x", want: session.Deny,
			layer: "d",
		},
		{
			name: "approval of another", layers: layers{layer("d", "bash | * | ask")},
			approvals: rules("bash | git status | allow"), action: "bash", resource: "git status -v", want: session.Ask,
			layer: "d",
		},
		{
			name: "an approval can only allow", layers: layers{layer("d", "bash | * | allow")},
			approvals: rules("bash | * | deny"), action: "bash", resource: "x", want: session.Allow, layer: "d",
		},
		{
			name: "approval that denies an ask", layers: layers{layer("d", "bash | * | ask")},
			approvals: rules("bash | * | deny"), action: "bash", resource: "x", want: session.Ask, layer: "d",
		},

		{
			name: "ceiling denies",
			layers: layers{
				layer("d", "* | * | allow"), ceiling("parent", "edit | * | deny"), layer("session", "edit | * | allow"),
			},
			approvals: rules("edit | * | allow"), action: "edit", resource: "a", want: session.Deny, layer: "parent",
		},
		{
			name: "ceiling does not allow", layers: layers{ceiling("parent", "edit | * | allow")}, action: "edit", resource: "a",
			want: session.Ask,
		},
		{
			name: "ceiling does not ask", layers: layers{layer("d", "edit | * | allow"), ceiling("parent", "edit | * | ask")},
			action: "edit", resource: "a", want: session.Allow, layer: "d",
		},
		{
			name:   "strict ceiling asks where others allow",
			layers: layers{layer("d", "edit | * | allow"), strict("project", "edit | * | ask")}, action: "edit", resource: "a",
			want: session.Ask, layer: "project",
		},
		{
			name:      "an approval lifts a strict ceiling's ask",
			layers:    layers{layer("d", "edit | * | allow"), strict("project", "edit | * | ask")},
			approvals: rules("edit | * | allow"), action: "edit", resource: "a", want: session.Allow, layer: "approval",
		},
		{
			name:   "within a ceiling the last rule counts",
			layers: layers{layer("d", "* | * | allow"), ceiling("parent", "edit | * | deny", "edit | plans/* | allow")},
			action: "edit", resource: "plans/a.md", want: session.Allow, layer: "d",
		},
		{
			name:   "one ceiling does not lift another",
			layers: layers{ceiling("a", "edit | * | deny"), ceiling("b", "edit | * | allow"), layer("d", "* | * | allow")},
			action: "edit", resource: "x", want: session.Deny, layer: "a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := permission.Evaluate(c.layers, c.approvals, c.action, c.resource)
			if d.Effect != c.want || d.Layer != c.layer {
				t.Fatalf("%s by %q, want %s by %q", d.Effect, d.Layer, c.want, c.layer)
			}
			if named := c.layer != "" && c.layer != "approval"; named &&
				(d.Rule == nil || d.Source != c.layer+".json") {
				t.Fatalf("%+v", d)
			}
		})
	}
}

func TestEvaluateAll(t *testing.T) {
	layers := []permission.Layer{
		layer("d", "read | * | allow", "read | *.env | ask", "read | *.key | deny", "bash | x | allow"),
	}
	for _, c := range []struct {
		action    string
		resources []string
		want      session.Effect
		rule      string // the resource pattern that decided
	}{
		{"read", []string{"a", "b"}, session.Allow, "*"},
		{"read", []string{"a", "x.env", "b"}, session.Ask, "*.env"},
		{"read", []string{"x.env", "x.key", "a"}, session.Deny, "*.key"},
		{"read", []string{"x.key", "y.env"}, session.Deny, "*.key"},
		{"read", nil, session.Allow, "*"},
		{"bash", nil, session.Ask, ""},
		{"bash", []string{}, session.Ask, ""},
	} {
		d := permission.EvaluateAll(layers, nil, permission.Subject{Action: c.action, Resources: c.resources})
		rule := ""
		if d.Rule != nil {
			rule = d.Rule.Resource
		}
		if d.Effect != c.want || rule != c.rule {
			t.Errorf("%s %v: %s by %q", c.action, c.resources, d.Effect, rule)
		}
	}
	if d := permission.EvaluateAll(
		layers, rules("read | *.env | allow"), permission.Subject{Action: "read", Resources: []string{"x.env", "x.key"}},
	); d.Effect != session.Deny {
		t.Error(d.Effect)
	}
}

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []permission.Layer
		want   bool
	}{
		{"no rules", nil, false},
		{"denied", []permission.Layer{layer("d", "edit | * | deny")}, true},
		{"denied for some", []permission.Layer{layer("d", "edit | *.env | deny")}, false},
		{"allowed again for some", []permission.Layer{layer("d", "edit | * | deny", "edit | plans/* | allow")}, false},
		{"asked again", []permission.Layer{layer("d", "* | * | deny"), layer("user", "edit | * | ask")}, false},
		{"denied by all", []permission.Layer{layer("d", "edit | * | allow", "* | * | deny")}, true},
		{"another action is last", []permission.Layer{layer("d", "edit | * | deny", "read | * | allow")}, true},
		{"ceiling", []permission.Layer{ceiling("parent", "edit | * | deny"), layer("d", "* | * | allow")}, true},
		{
			"ceiling with an exception",
			[]permission.Layer{ceiling("parent", "edit | * | deny", "edit | plans/* | allow"), layer("d", "* | * | allow")},
			false,
		},
		{"ceiling allows", []permission.Layer{layer("d", "edit | * | deny"), ceiling("parent", "edit | * | allow")}, true},
		{
			"ceiling denies some",
			[]permission.Layer{layer("d", "edit | * | deny"), ceiling("parent", "edit | *.env | deny")},
			true,
		},
	} {
		if got := permission.IsHidden(c.layers, "edit"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Whatever is hidden is denied: what the model is not offered could not have been used.
func TestHiddenIsDenied(t *testing.T) {
	var pool []permission.Layer
	for _, a := range []string{
		"edit | * | deny", "edit | a | allow", "* | * | allow", "edit | * | ask", "edit | b | deny", "* | * | deny",
	} {
		pool = append(pool, layer("l", a), ceiling("c", a))
	}
	for _, x := range pool {
		for _, y := range pool {
			for _, z := range pool {
				layers := []permission.Layer{x, y, z}
				if !permission.IsHidden(layers, "edit") {
					continue
				}
				for _, r := range []string{"a", "b", "c"} {
					if d := permission.Evaluate(layers, nil, "edit", r); d.Effect != session.Deny {
						t.Fatalf("%s is %s though hidden: %+v", r, d.Effect, layers)
					}
				}
			}
		}
	}
}

// No approval lifts a deny, for any rules.
func TestApprovalsNeverBeatDeny(t *testing.T) {
	everything := rules("* | * | allow")
	effects := []string{"allow", "ask", "deny"}
	for _, a := range effects {
		for _, b := range effects {
			for _, isCeiling := range []bool{false, true} {
				layers := []permission.Layer{layer("1", "* | * | "+a), layer("2", "bash | rm * | "+b)}
				layers[0].Ceiling = isCeiling
				before := permission.Evaluate(layers, nil, "bash", "rm x").Effect
				after := permission.Evaluate(layers, everything, "bash", "rm x").Effect
				if (before == session.Deny) != (after == session.Deny) ||
					before != session.Deny && after != session.Allow {
					t.Errorf("%s %s %v: %s became %s", a, b, isCeiling, before, after)
				}
			}
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"*", "a/b\nc", true},
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"a*c", "abbbc", true},
		{"a*c", "ac", true},
		{"a*c", "acb", false},
		{"*a*b*", "xxayybzz", true},
		{"?", "a", true},
		{"?", "", false},
		{"a?c", "abc", true},
		{"a?c", "a/c", true},
		{"src/*", "src/a/b.go", true},
		{"src/*", "src", false},
		{"*.env", ".env", true},
		{"*.env", "a/.env", true},
		{"*.env", ".env.local", false},
		{"a.c", "abc", false},
		{"a+(b)[c]{d}|^$", "a+(b)[c]{d}|^$", true},
		{"git *", "git", true},
		{"git *", "git status", true},
		{"git *", "gitk", false},
		{"git status *", "git status", true},
		{"git *", "git ", true},
		{" *", "", true},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{`a\?`, "a?", true},
		{`a\?`, "ab", false},
		{`a\\b`, `a\b`, true},
		{`a\b`, `a\b`, true},
		{`git \*`, "git", false},
		{`git \*`, "git *", true},
		{`git \\ *`, `git \`, true},
		{`x\`, `x\`, true},
		{"*é*", "café au lait", true},
		{"caf??", "café", true}, // ? is one byte
	} {
		if got := permission.Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

// A pattern made to backtrack takes no time.
func TestMatchIsNotExponential(t *testing.T) {
	if permission.Match(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 20_000)) {
		t.Fatal("matched")
	}
}

func TestEscape(t *testing.T) {
	got := []string{}
	for _, s := range []string{"ls", "rm *", `a\b?`, `\`} {
		got = append(got, permission.Escape(s))
	}
	if diff := cmp.Diff([]string{"ls", `rm \*`, `a\\b\?`, `\\`}, got); diff != "" {
		t.Fatal(diff)
	}
}

// What is escaped matches itself and nothing else.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "rm *", `\`, `\*`, `a\\ *`, "git ?", " *", `x \`, "é\xff\n"} {
		f.Add(s, "git")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		p := permission.Escape(s)
		if !permission.Match(p, s) {
			t.Fatalf("Match(%q, %q)", p, s)
		}
		if other != s && permission.Match(p, other) {
			t.Fatalf("Match(%q, %q), escaped from %q", p, other, s)
		}
	})
}

// Match agrees with the obvious slow definition.
func FuzzMatch(f *testing.F) {
	for _, c := range [][2]string{
		{"*", ""}, {"git *", "git"}, {`a\*b?`, "a*bc"}, {`\\ *`, `\`}, {"a*b*c", "abcbc"}, {` *`, " x"}, {`\ *`, `\`},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 24 || len(text) > 24 || strings.Count(pattern, "*") > 5 { // slow is exponential in stars
			return
		}
		want := slow(pattern, text)
		if bare, ok := strings.CutSuffix(pattern, " *"); ok {
			want = want || slow(bare, text)
		}
		if got := permission.Match(pattern, text); got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, text, got)
		}
	})
}

func slow(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case p[0] == '*':
		return slow(p[1:], s) || s != "" && slow(p, s[1:])
	case len(p) > 1 && p[0] == '\\' && strings.IndexByte(`*?\`, p[1]) >= 0:
		return s != "" && s[0] == p[1] && slow(p[2:], s[1:])
	default:
		return s != "" && (p[0] == '?' || p[0] == s[0]) && slow(p[1:], s[1:])
	}
}

// An unknown effect denies, in any rule.
func TestUnknownEffectDenies(t *testing.T) {
	misspelt := []session.Rule{{Action: "edit", Resource: "*", Effect: "denied"}}
	saved := []session.Rule{{Action: "edit", Resource: "*", Effect: session.Allow}}
	for _, l := range []permission.Layer{{Rules: misspelt}, {Rules: misspelt, Ceiling: true}} {
		layers := []permission.Layer{{Rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}}, l}
		if d := permission.Evaluate(layers, saved, "edit", "x"); d.Effect != session.Deny {
			t.Errorf("decided %+v", d)
		}
		if !permission.IsHidden(layers, "edit") {
			t.Error("a tool that is denied always is shown")
		}
	}
}

// A "**/" of a path also matches nothing, for every effect; that of a command or an address does not.
func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"**/.env*", ".env", true},
		{"**/.env*", "sub/.env.local", true},
		{"**/.env*", "x.env", false},
		{"src/**/x", "src/x", true},
		{"src/**/x", "src/a/b/x", true},
		{"src/**/x", "srcx", false},
		{"**/a/**/b", "a/b", true},
		{"**/**/x", "x", true},
		{"a**/x", "x", false},
		{"**/", "", true},
		{"/etc/**/p", "/etc/p", true},
		{strings.Repeat("**/", 200) + "y", "x", false},
		{strings.Repeat("**/", 200) + "y", "y", true},
		{strings.Repeat("a/**/", 9) + "y", strings.Repeat("a/", 9) + "y", true},
		{"**/make *", "make", true},
		{`a/**/\*`, "a/*", true},
		{`a/**/\*`, "a/x", false},
	} {
		for _, action := range []string{"read", "edit", "external_directory"} {
			for _, effect := range []session.Effect{session.Allow, session.Ask, session.Deny} {
				layers := []permission.Layer{{Rules: []session.Rule{{Action: action, Resource: c.pattern, Effect: effect}}}}
				if got := permission.Evaluate(layers, nil, action, c.path); (got.Rule != nil) != c.want {
					t.Errorf("%s %s of %q with %q: got %+v", effect, action, c.path, c.pattern, got)
				}
			}
		}
	}
	rule := []permission.Layer{{Rules: []session.Rule{{Action: "*", Resource: "**/make", Effect: session.Allow}}}}
	for _, action := range []string{"bash", "webfetch"} {
		if got := permission.Evaluate(rule, nil, action, "make"); got.Rule != nil {
			t.Errorf("%s: got %+v", action, got)
		}
	}
}
