package opencode_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
)

// testdata/sanitized.json is an export of OpenCode's without and with --sanitize.
func TestSanitizeAsOpenCode(t *testing.T) {
	b, err := os.ReadFile("testdata/sanitized.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Plain, Sanitized document }
	if err := json.Unmarshal(b, &recorded, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	want, got := recorded.Sanitized, recorded.Plain
	if diff := cmp.Diff(removeLeaks(plain(t, want.Info)), plain(t, opencode.SanitizeSession(got.Info))); diff != "" {
		t.Errorf("session: -OpenCode +ours\n%s", diff)
	}
	for i := range got.Messages {
		if diff := cmp.Diff(removeLeaks(plain(t, want.Messages[i])),
			plain(t, opencode.SanitizeMessage(got.Messages[i]))); diff != "" {
			t.Errorf("message %d: -OpenCode +ours\n%s", i, diff)
		}
	}
}

// removeLeaks removes what OpenCode's export keeps and cairn's does not: failure texts, share addresses, structured
// output.
func removeLeaks(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"share", "structured", "format", "metadata"} {
			if name != "metadata" || v["slug"] != nil {
				delete(v, name)
			}
		}
		if e, ok := v["error"].(string); ok && v["status"] == "error" && !strings.HasPrefix(e, "[") {
			v["error"] = "[redacted:tool-error:prt_1fe0AST1f]"
		}
		if e, ok := v["error"].(map[string]any); ok {
			id := v["id"].(string)
			if e["data"].(map[string]any)["message"] = "[redacted:error:" + id + "]"; e["name"] == "" {
				delete(v, "error")
			}
		}
		for name := range v {
			v[name] = removeLeaks(v[name])
		}
	case []any:
		for i := range v {
			v[i] = removeLeaks(v[i])
		}
	}
	return v
}

// A sanitized session contains none of the session's text.
func TestSanitizeRemovesText(t *testing.T) {
	d := elsewhere(t)
	out := string(opencode.SanitizeSession(d.Info))
	for _, raw := range d.Messages {
		out += string(opencode.SanitizeMessage(raw))
	}
	for _, secret := range []string{
		"Mock title", "/there", "Look at", "Called the tool", "not for the model", "a.txt", "Find", "Hm.", "Running",
		"echo", "AAAA", "There is nothing",
		"busy", "3ae3", "Objective", "Go on", "Aborted by me", "sleep", "xUnknown", "of-the-future\",\"what",
		"Be brief", "opncd", "A title", "sig",
	} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is left in\n%s", secret, out)
		}
	}
}
