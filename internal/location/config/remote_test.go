package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

const remoteText = `{"auth": {"env": "TEAM"},
 "config": {"model": "team/big", "username": "x", "agent": {"review": {"prompt": "Review."}}, "permission": {"bash": "allow"},
  "provider": {"team": {"options": {"baseURL": "https://llm.team", "headers": {"a": "{env:TEAM}", "b": "{env:HOME}", "c": "{file:~/x}"}}}}}}`

func remotePlace(t *testing.T) *testPlace {
	p := newPlace(
		t,
		map[string]string{
			"cache/a.json": remoteText,
			userFile:       `{"provider": {"own": {"options": {"apiKey": "{env:TEAM}"}}}}`,
		},
	)
	p.remotes = []document.Remote{{
		Address: "https://team", Source: "https://team/.well-known/opencode", File: filepath.Join(p.root, "cache/a.json"),
		Env: "TEAM", Token: auth.NewSecret("sk-canary"),
	}}
	return p
}

func TestUntrustedRemoteIsInert(t *testing.T) {
	p := remotePlace(t)
	c := p.mustLoad()
	if c.Model != "team/big" || c.Agent["review"].Prompt != "Review." || c.Username != "" ||
		c.Provider["team"].BaseURL() != "" {
		t.Errorf("got %+v", c.Settings)
	}
	if c.Provider["own"].Options.APIKey.Reveal() != "sk-canary" {
		t.Error("the user's own files do not see the token")
	}
	want := []string{
		"untrusted https://team/.well-known/opencode:2:118 permission.bash",
		"ignored https://team/.well-known/opencode:2:34 username",
		"untrusted https://team/.well-known/opencode:3:3 provider",
	}
	if diff := cmp.Diff(want, p.warnings(c)); diff != "" {
		t.Error(diff)
	}
	r := c.Remotes[0]
	if r.Trusted || len(r.Claim.Files) != 1 ||
		!cmp.Equal(r.Claim.Files[0].Why, []string{"permission.bash", "provider"}) {
		t.Errorf("got %+v", r)
	}
	if len(c.Permissions) != 1 || !c.Permissions[0].Project || c.Permissions[0].Trusted {
		t.Errorf("its rules may do more than tighten: %+v", c.Permissions)
	}
	from := c.Explain("model")
	if from[0].Source.String() != "https://team/.well-known/opencode:2:22" {
		t.Errorf("got %+v", from)
	}
	p.write("repo/cairn.json", `{"model": "a/project"}`)
	if c := p.mustLoad(); c.Model != "a/project" {
		t.Error("it is not the lowest layer")
	}
}

func TestTrustedRemote(t *testing.T) {
	p := remotePlace(t)
	if err := p.judge().Store.Trust(t.Context(), p.mustLoad().Remotes[0].Claim); err != nil {
		t.Fatal(err)
	}
	c := p.mustLoad()
	team := c.Provider["team"]
	if !c.Remotes[0].Trusted || team.BaseURL() != "https://llm.team" || !c.Permissions[0].Trusted || c.Username != "" {
		t.Errorf("got %+v", c.Settings)
	}
	if diff := cmp.Diff(map[string]string{"a": "sk-canary", "b": "{env:HOME}", "c": "{file:~/x}"},
		team.Options.Headers); diff != "" {
		t.Error(diff)
	}
	p.write("cache/a.json", strings.Replace(remoteText, "llm.team", "evil", 1))
	if c.IsFresh() {
		t.Error("a new document is not seen")
	}
	if c := p.mustLoad(); c.Remotes[0].Trusted || len(c.Provider["team"].Options.Headers) > 0 {
		t.Error("another content is trusted too")
	}
}

func TestUnfetchedRemote(t *testing.T) {
	p := remotePlace(t)
	p.remotes[0].File += "x"
	c := p.mustLoad()
	if len(c.Warnings) != 1 || c.Model != "" {
		t.Errorf("got %v", c.Warnings)
	}
	p.write("cache/a.jsonx", `{"config": {"model": "a/b"}}`)
	if c.IsFresh() || p.mustLoad().Model != "a/b" {
		t.Error("it is not seen when it comes")
	}
}

func TestInvalidRemoteIsSkipped(t *testing.T) {
	p := remotePlace(t)
	for _, text := range []string{
		`{`, `[]`,
		`{"config": {"permission": 1}}`,
	} {
		p.write("cache/a.json", text)
		if c := p.mustLoad(); len(c.Warnings) != 1 || len(c.Permissions) > 0 || len(c.Remotes) > 0 ||
			!strings.Contains(c.Warnings[0].Message, "is not used: https://team/") {
			t.Errorf("%s: %v", text, c.Warnings)
		}
	}
}
