package access

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
)

// A keyring that is slow to answer is reported, a quick one is not.
func TestSlowKeyringIsReported(t *testing.T) {
	for takes, want := range map[time.Duration]string{time.Second: "", 20 * time.Second: "! waiting for the keyring"} {
		synctest.Test(t, func(t *testing.T) {
			inv, shown := testInvocation()
			why := errors.New("why")
			if err := (authCommands{inv}).whileKeyring(func() error { time.Sleep(takes); return why }); !errors.Is(err, why) {
				t.Errorf("got error %v, want that of the function", err)
			}
			if got := shown.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("after %s the note is %q, want %q", takes, got, want)
			}
		})
	}
}

// testInvocation returns an invocation that writes both streams into one buffer, so that their order shows.
func testInvocation() (*cli.Invocation, *bytes.Buffer) {
	var b bytes.Buffer
	env := func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }
	return cli.NewInvocation(nil, cli.Process{Stdout: &b, Stderr: &b, Env: env}), &b
}
