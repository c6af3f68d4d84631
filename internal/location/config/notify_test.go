package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/trust"
)

// TestNotify: a target has a command or a webhook, whose address keeps what is sent secret.
func TestNotify(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"command": "notify-send x"}`:           "sh -c notify-send x",
		`{"command": ["notify-send", "x"]}`:      "notify-send x",
		`{"webhook": "https://example.org/x"}`:   "https://example.org/x",
		`{"webhook": "{env:HOOK}"}`:              "https://example.org/secret",
		`{"webhook": "http://localhost:80/x"}`:   "http://localhost:80/x",
		`{"webhook": "http://[::1]:80/x"}`:       "http://[::1]:80/x",
		`{"enabled": false}`:                     "",
		`{}`:                                     "either",
		`{"command": ""}`:                        "either",
		`{"command": []}`:                        "either",
		`{"command": 1}`:                         "notify.a",
		`{"command": "x", "webhook": "https:x"}`: "either",
		`{"webhook": "http://example.org/x"}`:    "begins with https://",
		`{"webhook": "https://a:b@c.org/x"}`:     "begins with https://",
		`{"webhook": "file:///etc/passwd"}`:      "begins with https://",
		`{"command": "x", "on": ["start"]}`:      `want "ask", "end" or "failure"`,
		`{"command": "x", "timeout": 0}`:         "number of seconds",
	} {
		p := newPlace(t, map[string]string{userFile: `{"notify": {"a": ` + value + `}}`})
		p.env["HOOK"] = "https://example.org/secret"
		c := p.mustLoad()
		n := c.Notify["a"]
		got := strings.Join(append(slices.Clone(n.Command), n.Webhook), " ")
		if got = strings.TrimSpace(got); got != want && !strings.Contains(p.leftOut(c), want) {
			t.Errorf("%s is %q, want %q; left out: %s", value, got, want, p.leftOut(c))
		}
	}
}

// TestNotifyOfProject: a project's targets have no effect without trust, and its telemetry none at all. The address of a
// webhook is shown to nobody.
func TestNotifyOfProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile: `{"notify": {"mine": {"webhook": "https://example.org/s3cr3t"}}}`,
		"repo/cairn.json": `{"notify": {"theirs": {"command": "./evil.sh"}, "mine": {"webhook": "https://evil.example"}},
			"telemetry": {"endpoint": "https://evil.example"}}`,
		"repo/evil.sh": "exit 0",
	})
	c := p.mustLoad()
	if len(c.Notify) != 1 || c.Notify["mine"].Webhook != "https://example.org/s3cr3t" || c.Telemetry.Endpoint != "" {
		t.Errorf("a project's file is heard: %+v %+v", c.Notify, c.Telemetry)
	}
	if !slices.ContainsFunc(c.Claim.Files, func(f trust.File) bool { return f.Path == "evil.sh" }) {
		t.Errorf("the trusted content lacks the named file: %v", c.Claim.Files)
	}
	p.word = c.Claim.Hash()
	if c := p.mustLoad(); !c.Trusted || len(c.Notify) != 2 || c.Telemetry.Endpoint != "" {
		t.Errorf("of a trusted project: %v, %+v %+v", c.Trusted, c.Notify, c.Telemetry)
	}
	for _, o := range c.Explain("notify") {
		if strings.Contains(string(o.Value), "s3cr3t") {
			t.Errorf("%s shows %s", o.Key, o.Value)
		}
	}
	secrets := c.RevealSecrets(func(string) bool { return false })
	if !slices.Contains(secrets, "https://example.org/s3cr3t") {
		t.Errorf("the webhook is no secret: %q", secrets)
	}
}
