package builtin_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// What a command reaches is asked for before it runs, in the words of what its paths resolve to: directories outside,
// files that it prints, files that the shell writes; then its commands.
func TestBashReaches(t *testing.T) {
	b := newBench(t)
	secret := b.file(b.outside("other/secret.txt"), "secret\n")
	other := filepath.Dir(secret)
	b.file("a.txt", "a\n")
	b.file("sub/b.txt", "b\n")
	b.link(other, "link")
	b.link(other, "sub/inner")
	b.rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	outside := "external_directory " + other + "/*"
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"cat a.txt", []string{"read a.txt", "bash cat a.txt"}},
		{"cd sub && cat b.txt", []string{"read sub/b.txt", "bash cat b.txt"}},
		{"cd sub", []string{}},
		{"ls > out.txt", []string{"edit out.txt", "bash ls > out.txt"}},
		{"ls 2> /dev/null", []string{"bash ls 2> /dev/null"}},
		{"ls | tee sub/t.txt", []string{"edit sub/t.txt", "bash ls,tee sub/t.txt"}},
		{"> made.txt", []string{"edit made.txt"}},
		{"cat OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat OTHER/secret.txt"}},
		{"cat link/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat link/secret.txt"}},
		{"cat ../other/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat ../other/secret.txt"}},
		{"cd sub && cat inner/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat inner/secret.txt"}},
		{"cd link && pwd", []string{outside, "bash pwd"}},
		{"ls OTHER/s*", []string{outside, "bash ls OTHER/s*"}},
		{"grep s OTHER/secret.txt", []string{outside, "bash grep s OTHER/secret.txt"}},
		{"wc < OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash wc < OTHER/secret.txt"}},
		{"echo a > link/new.txt", []string{outside, "edit OTHER/new.txt", "bash echo a > link/new.txt"}},
		{"bash -c 'cat link/secret.txt'", []string{outside, "read OTHER/secret.txt", "bash bash -c 'cat link/secret.txt'"}},
		{"echo /nowhere/at/all", []string{"bash echo /nowhere/at/all"}},
		{"echo a; /bin/echo b", []string{"bash echo a,/bin/echo b"}},
	} {
		command := strings.ReplaceAll(c.command, "OTHER", other)
		for i := range c.want {
			c.want[i] = strings.ReplaceAll(c.want[i], "OTHER", other)
		}
		b.call("bash", in{"command": command})
		if diff := cmp.Diff(c.want, b.asks()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}
