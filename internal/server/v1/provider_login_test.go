package v1

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// person is a login that says where to go and takes a minute.
func person(result error) func(context.Context, plugin.LoginDialog) error {
	return func(ctx context.Context, d plugin.LoginDialog) error {
		d.Show(plugin.Authorization{URL: "https://vendor.example/device", Method: "auto", Instructions: "AB-12"})
		select {
		case <-time.After(time.Minute):
			return result
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A login goes on when the request that began it is over; who waits learns how it went, once.
func TestALoginIsWaitedFor(t *testing.T) {
	refused := errors.New("refused")
	for _, result := range []error{nil, refused} {
		synctest.Test(t, func(t *testing.T) {
			var l providerLogins
			defer l.close()
			ctx, cancel := context.WithCancel(t.Context())
			to, err := l.start(ctx, "v", person(result))
			if err != nil || to != (plugin.Authorization{URL: "https://vendor.example/device", Method: "auto", Instructions: "AB-12"}) {
				t.Fatal(to, err)
			}
			if err := l.wait(t.Context(), "other"); !errors.Is(err, errNoLogin) {
				t.Error(err)
			}
			if err := l.wait(ctx, "v"); result != nil && !errors.Is(err, result) || result == nil && err != nil {
				t.Error(err)
			}
			cancel()
			if err := l.wait(t.Context(), "v"); !errors.Is(err, errNoLogin) {
				t.Error(err)
			}
		})
	}
}

// A client can wait for a login again; a new login of the provider cancels the previous one; close cancels all.
func TestALoginIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l providerLogins
		ended := make(chan error, 1)
		if _, err := l.start(t.Context(), "v", func(ctx context.Context, d plugin.LoginDialog) error {
			err := person(nil)(ctx, d)
			ended <- err
			return err
		}); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if err := l.wait(gone, "v"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := l.start(t.Context(), "v", func(context.Context, plugin.LoginDialog) error {
			return errors.New("no network")
		}); err == nil ||
			err.Error() != "no network" {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error("the first login went on:", err)
		}
		if _, err := l.start(t.Context(), "v", person(nil)); err != nil {
			t.Error(err)
		}
		l.close()
		if _, err := l.start(t.Context(), "v", person(nil)); !errors.Is(err, httpio.ErrShuttingDown) {
			t.Error(err)
		}
	})
}

// The code that a person got reaches the login that waits for it, also before it asks, and no other one.
func TestCodeOfALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l providerLogins
		defer l.close()
		got := make(chan string, 1)
		if _, err := l.start(t.Context(), "v", func(ctx context.Context, d plugin.LoginDialog) error {
			d.Show(plugin.Authorization{URL: "https://vendor.example", Method: "code", Instructions: ""})
			code, err := d.Code(ctx)
			got <- code
			return err
		}); err != nil {
			t.Fatal(err)
		}
		l.giveCode("other", "wrong")
		if !l.lacksCode("v") || l.lacksCode("other") {
			t.Error("a login that shows a code does not want it, or one that was not started does")
		}
		l.giveCode("v", "AB-12")
		if code := <-got; code != "AB-12" || l.lacksCode("v") {
			t.Error(code, l.lacksCode("v"))
		}
	})
}
