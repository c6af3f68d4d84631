package share_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// A registry that was repaired is looked at again, without a request.
func TestRepairedRegistry(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.server.Fail(sharetarget.Down, sharetarget.Delete)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		w.stop()
		text, err := os.ReadFile(w.file)
		if err == nil {
			err = os.WriteFile(w.file, text[:10], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.server.Recover()
		w.start()
		w.settle(10 * time.Minute)
		if err := os.WriteFile(w.file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Minute)
		if w.server.IsShared(s.RemoteID) {
			t.Error("the share is still there")
		}
	})
}

// A session that cannot record where it is shared is shared nevertheless: the caller gets the address, and it is recorded
// later. The failure is gone when that succeeds.
func TestRecordedAfterFailure(t *testing.T) {
	play(t, func(w *world) {
		w.setOnRecord(func() error { return errors.New("the session is busy") })
		shared, err := w.outbox.Share(context.Background(), "ses_a", share.Options{PageURL: "http://pages"})
		if err != nil || shared.URL == "" || w.shareOf("ses_a") != nil {
			t.Errorf("%+v, %v, in the session: %v", shared, err, w.shareOf("ses_a"))
		}
		w.settle(time.Minute)
		if got := w.list()[0]; got.Failure == "" {
			t.Errorf("%+v", got)
		}
		w.setOnRecord(nil)
		w.settle(5 * time.Minute)
		if got := w.list()[0]; got.Failure != "" || got.Attempts != 0 || w.shareOf("ses_a") == nil {
			t.Errorf("%+v", got)
		}
	})
}

// Requests do not take the workers of uploads.
func TestRequestsTakeNoWorkers(t *testing.T) {
	play(t, func(w *world) {
		w.addShared(5)
		w.server.Fail(sharetarget.Held, sharetarget.Delete)
		for i := range 4 {
			id := session.ID(fmt.Sprintf("ses_%08d", i))
			go func() { _, _ = w.outbox.Revoke(context.Background(), id) }()
		}
		w.settle(time.Second)
		w.prompt("ses_00000004", "news")
		w.settle(2 * time.Second)
		if got := w.texts("00000004"); len(got) != 1 {
			t.Errorf("%q", got)
		}
		w.server.Recover()
		w.settle(time.Minute)
	})
}

// Sessions that change all the time on a slow server do not keep a newer one, or a revocation, from a worker.
func TestBusySessionsTakeTurns(t *testing.T) {
	play(t, func(w *world) {
		w.addShared(6)
		change := func() {
			for i := range 4 {
				w.prompt(session.ID(fmt.Sprintf("ses_%08d", i)), "busy")
			}
		}
		w.server.Fail(sharetarget.Held, sharetarget.Sync)
		change()
		w.settle(time.Second) // four uploads are under way
		w.prompt("ses_00000004", "news")
		if _, err := w.outbox.Share(context.Background(), "ses_00000005", share.Options{Expires: time.Second, Extend: true}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.settle(2 * time.Second)
			change()
			w.server.Recover()
			w.server.Fail(sharetarget.Held, sharetarget.Sync)
		}
		w.settle(2 * time.Second)
		if w.server.IsShared("00000005") {
			t.Error("the expired share is still there")
		}
		uploads := 0
		for _, r := range w.server.Requests() {
			if r.Operation == sharetarget.Sync && r.Share == "00000004" {
				uploads++
			}
		}
		if uploads < 2 { // the first one is that of addShared
			t.Errorf("%d uploads", uploads)
		}
		w.server.Recover()
		w.settle(time.Minute)
	})
}

// The end of a process waits for a target that does not answer for 3 seconds at most, whatever it was asked for, and leaves
// the share to the next process.
func TestEndIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		fail     func(*sharetarget.Target)
		isShared bool // in the end
	}{
		"a create": {func(s *sharetarget.Target) { s.Fail(sharetarget.Held, sharetarget.Create) }, true},
		"the deletion of a share with a bad address": {func(s *sharetarget.Target) {
			s.Fail(sharetarget.BadURL, sharetarget.Create)
			s.Fail(sharetarget.Held, sharetarget.Delete)
		}, false}, // the server has it still, and refuses another one
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				test.fail(w.server)
				if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
					t.Fatal(err)
				}
				w.settle(time.Second)
				end := time.Now()
				w.stop()
				if d := time.Since(end); d > 3*time.Second {
					t.Errorf("the end took %v", d)
				}
				w.server.Recover()
				w.start()
				w.settle(time.Minute)
				if all := w.list(); len(all) != 1 || (w.shareOf("ses_a") != nil) != test.isShared {
					t.Errorf("%+v", all)
				}
			})
		})
	}
}

// A request that creates a share when the process ends, as with Ctrl-C, is waited for, and its share is removed again: the
// secret of an unanswered one would be lost, and the session could not be shared there any more.
func TestEndWaitsForRequest(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Late, sharetarget.Create)
		ctx, interrupt := context.WithCancel(context.Background())
		shared := make(chan error, 1)
		go func() {
			_, err := w.outbox.Share(ctx, "ses_a", remote)
			shared <- err
		}()
		w.settle(time.Second)
		interrupt()
		time.AfterFunc(time.Second, w.server.Recover)
		w.stop()
		if err := <-shared; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		w.start()
		w.settle(time.Minute)
		if all := w.list(); len(all) > 0 || w.shareOf("ses_a") != nil {
			t.Errorf("%+v", all)
		}
		if s := w.share(remote); !w.server.IsShared(s.RemoteID) {
			t.Errorf("%+v", s)
		}
	})
}

// A process that ends begins no create, because it may not be there for the answer; the next process does.
func TestEndBeginsNoCreate(t *testing.T) {
	play(t, func(w *world) {
		w.settle(time.Second) // it waits for work, and then for more of it (batchDelay)
		if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
			t.Fatal(err)
		}
		w.stop()
		if sent := w.server.Requests(); len(sent) > 0 {
			t.Errorf("%v", sent)
		}
		w.start()
		w.settle(time.Second)
		if all := w.list(); len(all) != 1 || !w.server.IsShared(all[0].RemoteID) {
			t.Errorf("%+v", all)
		}
	})
}
