//go:build unix

package installation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
)

// notifyingWriter closes seen at the first write.
type notifyingWriter struct {
	seen chan struct{}
	once sync.Once
}

func (w *notifyingWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.seen) })
	return len(b), nil
}

// TestInterruptedInstaller: an installer that is interrupted while a program of it downloads removes what it has begun,
// and the program does not go on.
func TestInterruptedInstaller(t *testing.T) {
	prefix := t.TempDir()
	script := filepath.Join(prefix, "lib", "cairn", "install.sh")
	err := errors.Join(os.MkdirAll(filepath.Dir(script), 0o700), os.WriteFile(script, []byte(
		"trap 'rm -f \"$2/begun\"' EXIT\ntrap 'exit 143' TERM\n"+
			"touch \"$2/begun\"\necho begun\nsleep 60\ntouch \"$2/finished\"\n",
	), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	out := &notifyingWriter{seen: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-out.seen
		cancel(cli.ErrSignal)
	}()
	inv := cli.NewInvocation(nil, cli.Process{Stdout: out, Stderr: out, Env: func(string) string { return "" }})
	err = upgradeCommand{inv}.runInstaller(ctx, origin{prefix: prefix}, installerCall{action: "--upgrade", out: out})
	if !errors.Is(err, cli.ErrSignal) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"begun", "finished"} {
		if _, err := os.Stat(filepath.Join(prefix, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
