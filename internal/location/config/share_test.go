package config

import (
	"strings"
	"testing"
)

// Only the user's configuration can share sessions automatically; every file can disable sharing.
func TestShareMode(t *testing.T) {
	t.Parallel()
	const project = "repo/cairn.json"
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		want  ShareMode
	}{
		{"default", nil, nil, ""},
		{"user", map[string]string{userFile: `{"share": "auto"}`}, nil, ShareAuto},
		{"older form", map[string]string{userFile: `{"autoshare": true}`}, nil, ShareAuto},
		{"project", map[string]string{project: `{"share": "auto"}`}, nil, ""},
		{"project in the older form", map[string]string{project: `{"autoshare": true}`}, nil, ""},
		{"project, manual", map[string]string{userFile: `{"share": "disabled"}`, project: `{"share": "manual"}`}, nil, ShareDisabled},
		{"project, disabled", map[string]string{userFile: `{"share": "auto"}`, project: `{"share": "disabled"}`}, nil, ShareDisabled},
		{"variable", nil, map[string]string{"OPENCODE_AUTO_SHARE": "1"}, ShareAuto},
		{"variable of a project", map[string]string{project: `{"share": "disabled"}`}, map[string]string{"CAIRN_AUTO_SHARE": "1"}, ShareDisabled},
		{
			"document in a variable",
			map[string]string{project: `{"share": "disabled"}`},
			map[string]string{"CAIRN_CONFIG_CONTENT": `{"share": "auto"}`},
			ShareDisabled,
		},
		{
			"document in a variable, manual",
			map[string]string{project: `{"share": "disabled"}`},
			map[string]string{"CAIRN_CONFIG_CONTENT": `{"share": "manual"}`},
			ShareDisabled,
		},
		{
			"document in a variable, older form",
			map[string]string{project: `{"share": "disabled"}`},
			map[string]string{"CAIRN_CONFIG_CONTENT": `{"autoshare": true}`},
			ShareDisabled,
		},
		{
			"document in a variable over the user's",
			map[string]string{userFile: `{"share": "disabled"}`},
			map[string]string{"CAIRN_CONFIG_CONTENT": `{"share": "manual"}`},
			ShareManual,
		},
		{"variable of the user", map[string]string{userFile: `{"share": "disabled"}`}, map[string]string{"CAIRN_AUTO_SHARE": "1"}, ShareDisabled},
		{"variable that disables", map[string]string{userFile: `{"share": "auto"}`}, map[string]string{"OPENCODE_DISABLE_SHARE": "true"}, ShareDisabled},
		{
			"both variables", nil, map[string]string{"CAIRN_DISABLE_SHARE": "1", "CAIRN_AUTO_SHARE": "1"}, ShareDisabled,
		},
	} {
		p := newPlace(t, c.files)
		for k, v := range c.env {
			p.env[k] = v
		}
		if got := p.mustLoad().Share; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Sessions are sent over https, or to this machine.
func TestShareTarget(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"https://share.example.org": "https://share.example.org", "https://share.example.org/": "https://share.example.org",
		"https://h:8443/base": "https://h:8443/base", "http://127.0.0.1:9": "http://127.0.0.1:9", "http://[::1]:9": "http://[::1]:9",
		"http://localhost": "http://localhost", "http://share.example.org": "", "ftp://h": "", "share.example.org": "",
		"https://u:p@h": "", "https://h?x": "", "https://h#x": "", "": "", "https://": "", "file:///etc": "",
	} {
		for _, key := range []string{`"sharing": {"target": "` + value + `"}`, `"enterprise": {"url": "` + value + `"}`} {
			p := newPlace(t, map[string]string{userFile: `{` + key + `}`})
			c := p.mustLoad()
			if got := c.ShareTarget(); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
			if got := p.leftOut(c); want == "" && !strings.Contains(got, "want") {
				t.Errorf("%s: %q", key, got)
			}
		}
	}
	p := newPlace(t, map[string]string{"repo/cairn.json": `{"sharing": {"target": "https://evil"}, "enterprise": {"url": "https://evil"}}`})
	if got := p.mustLoad().ShareTarget(); got != "" {
		t.Errorf("a project's file sends sessions to %s", got)
	}
}
