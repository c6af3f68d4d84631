package share_test

import (
	"context"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// The expiry that a request asks for holds for an automatic share, too, that has waited for its server until then.
func TestExpiryOfAPendingShare(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Down)
		if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Second)
		w.server.Recover()
		s := w.share(share.Options{Target: remote.Target, Expires: time.Hour, Extend: true})
		if got := w.shareOf("ses_a"); s.Expires == 0 || got == nil || got.Expires != s.Expires || w.list()[0].Expires != s.Expires {
			t.Errorf("%+v %+v %+v", s, got, w.list())
		}
		w.settle(2 * time.Hour)
		if w.shareOf("ses_a") != nil || len(w.list()) > 0 || w.server.IsShared(s.RemoteID) {
			t.Errorf("%+v", w.list())
		}
	})
}

// A share that is revoked while it gets a new expiry is revoked: the session does not say that it is shared.
func TestNewExpiryOfARevokedShare(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		done := make(chan error, 1)
		w.setOnRecord(func() error {
			w.setOnRecord(nil)
			go func() {
				_, err := w.outbox.Revoke(context.Background(), "ses_a")
				done <- err
			}()
			pause(time.Second)
			return nil
		})
		_, _ = w.outbox.Share(context.Background(), "ses_a", share.Options{Expires: time.Hour, Extend: true})
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.settle(time.Minute)
		if w.shareOf("ses_a") != nil || len(w.list()) > 0 || w.server.IsShared(s.RemoteID) {
			t.Errorf("%+v %+v", w.shareOf("ses_a"), w.list())
		}
	})
}

// A share that has expired and is not revoked yet is not returned: the session gets another one.
func TestShareAfterExpiry(t *testing.T) {
	for _, options := range []share.Options{remote, {PageURL: "http://pages"}} {
		play(t, func(w *world) {
			options.Expires = time.Hour
			s := w.share(options)
			w.settle(time.Second)
			w.stop() // nothing revokes it
			w.settle(2 * time.Hour)
			again := w.share(options)
			if again.ID == s.ID || !again.IsActive(time.Now()) || len(w.list()) != 1 {
				t.Errorf("%+v %+v", again, w.list())
			}
			w.start()
		})
	}
}
