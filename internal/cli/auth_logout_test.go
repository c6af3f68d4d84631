package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for a keyring is told so, and others are not.
func TestWhatIsWaitedForIsSaid(t *testing.T) {
	for takes, want := range map[time.Duration]string{time.Second: "", 20 * time.Second: "! waiting for the keyring"} {
		synctest.Test(t, func(t *testing.T) {
			a, said := paper()
			why := errors.New("why")
			if err := a.whileKeyring(func() error { time.Sleep(takes); return why }); !errors.Is(err, why) {
				t.Error(err)
			}
			if got := said.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q", takes, got)
			}
		})
	}
}

// That a key of the environment stands in for one that is out of reach is said, of the provider that was asked.
func TestStandInsAreSaid(t *testing.T) {
	home := outOfReach(t)
	for id, want := range map[string]string{
		"openai": "! the key of openai lies in the keyring, and cannot be read: no keyring can be reached from here; the one in $OPENAI_API_KEY is used instead\n",
		"groq":   "", "xai": "", "": "",
	} {
		a, said := paper()
		a.Env = func(name string) string {
			return map[string]string{"CAIRN_HOME": home, "OPENAI_API_KEY": "sk-canary", "XAI_API_KEY": "sk-canary"}[name]
		}
		a.heedStandIns(t.Context())(id)
		if got := said.String(); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// outOfReach is a home whose keyring cannot be reached.
func outOfReach(t *testing.T) string {
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

// serving is a host that serves for a moment.
type serving struct{ Host }

func (serving) Serve(_ context.Context, _ ServeOptions, ready func(Listening)) error {
	ready(Listening{URL: "http://127.0.0.1:1"})
	return nil
}

// A server that cannot use keys says so when it begins.
func TestServeSaysWhichKeysAreOutOfReach(t *testing.T) {
	home := outOfReach(t)
	a, said := paper()
	a.host = serving{}
	a.Env = func(name string) string { return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] }
	cmd := a.serveCommand()
	cmd.SetArgs(nil)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"listening on http://127.0.0.1:1\n! the key of groq lies", "the key of openai lies in the keyring"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
}
