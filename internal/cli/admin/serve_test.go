package admin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
)

// servingHost is a host whose server ends as soon as it listens.
type servingHost struct{ cli.Host }

func (servingHost) Serve(_ context.Context, _ client.ServeOptions, ready func(client.Listening)) error {
	ready(client.Listening{URL: "http://127.0.0.1:1"})
	return nil
}

// A server reports the keys that it cannot use when it begins.
func TestServeReportsUnreachableKeys(t *testing.T) {
	home := homeWithUnreachableKeys(t)
	inv, shown := testInvocation()
	inv.Host = servingHost{}
	inv.Env = func(name string) string { return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] }
	cmd := serveCommand{inv}.serveCommand()
	cmd.SetArgs([]string{}) // nil would take the arguments of the test binary
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"listening on http://127.0.0.1:1\n! the key of groq is stored in the keyring",
		"the key of openai is stored in the keyring",
	} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not in the output: %s", want, shown)
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
	keys := `{"openai": {"type": "api", "keyring": "openai#1"}, "groq": {"type": "api", "keyring": "groq#1"}, "xai": {"type": "api", "key": "k"}}`
	if err := os.WriteFile(filepath.Join(home, "data", "auth.json"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}
