package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
)

// TestInterfaceArguments: the root command takes a directory, a prompt of several words, or what follows "--". One
// unknown word is no prompt.
func TestInterfaceArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args              []string
		dash              int
		takes             bool
		directory, prompt string
	}{
		{nil, -1, true, "", ""},
		{[]string{"lib"}, -1, true, "lib", ""},
		{[]string{"."}, -1, true, ".", ""},
		{[]string{"what is this"}, -1, true, "", "what is this"},
		{[]string{"lib", "what is this"}, -1, true, "lib", "what is this"},
		{[]string{"what", "is", "this"}, 0, true, "", "what is this"},
		{[]string{"lib", "fix"}, 1, true, "lib", "fix"},
		{[]string{"sesion"}, -1, false, "", ""},
		{[]string{"sesion "}, -1, false, "", ""},
		{[]string{"what", "is", "this"}, -1, false, "", ""},
		{[]string{"sesion", "fix"}, 1, false, "", "fix"},
	}
	for _, tt := range tests {
		inv := cli.NewInvocation(nil, cli.Process{Env: func(string) string { return "" }, Dir: dir})
		i := NewInterface(inv, &cobra.Command{Use: "cairn"})
		takes := i.AcceptArguments(tt.args, tt.dash)
		got := []any{takes, i.flags.server.directory, i.flags.prompt}
		if diff := cmp.Diff([]any{tt.takes, tt.directory, tt.prompt}, got); diff != "" {
			t.Errorf("%q with -- at %d (-want +got):\n%s", tt.args, tt.dash, diff)
		}
	}
}

// TestCutCommand: /NAME is a command, a path is not, and neither is a prompt behind a blank.
func TestCutCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"/review":              {"review", ""},
		"/review  the parser ": {"review", "the parser"},
		"/etc/hosts is wrong":  {"", "/etc/hosts is wrong"},
		"/dev is what?":        {"", "/dev is what?"},
		"/ is full":            {"", "/ is full"},
		" /review x":           {"", " /review x"},
		"say /review":          {"", "say /review"},
	} {
		name, rest := cutCommand(text)
		if diff := cmp.Diff(want, [2]string{name, rest}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestAddScheme: HOST:PORT is a server, other text is what it was.
func TestAddScheme(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"localhost:4096":     "http://localhost:4096",
		"[::1]:80":           "http://[::1]:80",
		"http://localhost:1": "http://localhost:1",
		"localhost":          "localhost",
		"../demo":            "../demo",
		"c:/x":               "c:/x",
		"host:99999":         "host:99999",
	} {
		if got := addScheme(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
