package embed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// An error of Open has a code and its cause, and the end of a context is returned as its cause.
func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noEnv := func(string) string { return "" }
	_, err := embed.Open(t.Context(), &embed.Options{Home: filepath.Join(file, "home"), Env: noEnv})
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeUnavailable || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a home below a file: %v", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = embed.Open(ctx, &embed.Options{Home: t.TempDir(), Env: noEnv})
	if err == nil || err.Error() != cause.Error() {
		t.Errorf("a context that has ended: %v", err)
	}
}

// Open that is cut off anywhere leaves nothing open: neither a goroutine nor the lease of the home.
func TestOpenIsCutOff(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	// open cancels its context when the environment is read for the nth time.
	open := func(n int64) (all int64, err error) {
		var reads atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		store, err := embed.Open(ctx, &embed.Options{Home: home, Directory: home, Env: func(string) string {
			if reads.Add(1) == n {
				cancel()
			}
			return ""
		}})
		if err == nil {
			err = store.Close()
		} else if errors.Is(err, context.Canceled) {
			err = nil
		}
		return reads.Load(), err
	}
	all, err := open(0)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= all; n += max(1, all/10) {
		if _, err := open(n); err != nil {
			t.Errorf("cut off at read %d of %d: %v", n, all, err)
		}
		if left := awaitGoroutines(); len(left) > 0 {
			t.Fatalf("cut off at read %d of %d, goroutines are left:\n%s", n, all, strings.Join(left, "\n\n"))
		}
	}
}
