package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// That a key of the environment stands in for one that is out of reach is said, of the provider that was asked.
func TestStandInsAreSaid(t *testing.T) {
	home := homeWithUnreachableKeys(t)
	for id, want := range map[string]string{
		"openai": "! the key of openai is stored in the keyring, which cannot be read: no keyring is available here; the " +
			"one in $OPENAI_API_KEY is used instead\n",
		"groq": "", "xai": "", "": "",
	} {
		a, said := testInvocation()
		a.Env = func(name string) string {
			return map[string]string{"CAIRN_HOME": home, "OPENAI_API_KEY": "sk-canary", "XAI_API_KEY": "sk-canary"}[name]
		}
		a.CheckKeyOverrides(t.Context())(id)
		if got := said.String(); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// homeWithUnreachableKeys is a home whose keyring cannot be reached.
func homeWithUnreachableKeys(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := `{"openai": {"type": "api", "keyring": "openai#1"}, "groq": {"type": "api", "keyring": "groq#1"}, "xai": {"type": "api", "key": "k"}}`
	if err := os.WriteFile(filepath.Join(home, "data", "auth.json"), []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// testInvocation returns an invocation that writes both streams into one buffer, so that their order shows.
func testInvocation() (*Invocation, *bytes.Buffer) {
	var b bytes.Buffer
	env := func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }
	return NewInvocation(nil, Process{Stdout: &b, Stderr: &b, Env: env}), &b
}
