package share_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// A revocation is recorded before the work on the share has ended, and holds if that does not end in time.
func TestRevocationIsRecordedFirst(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.onList = func() { pause(30 * time.Second) } // as a keyring that waits for its user
		w.prompt("ses_a", "second")
		w.settle(time.Second)
		done := make(chan share.Share, 1)
		go func() {
			result, err := w.outbox.Revoke(context.Background(), "ses_a")
			if err != nil {
				t.Error(err)
			}
			done <- result
		}()
		w.settle(time.Second)
		if text, err := os.ReadFile(w.file); err != nil || !strings.Contains(string(text), "revokedAt") {
			t.Errorf("%s %v", text, err)
		}
		if result := <-done; result.RevokedAt == 0 || !strings.Contains(result.Failure, "10s") {
			t.Errorf("%+v", result)
		}
		w.settle(5 * time.Minute)
		if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 || w.shareOf("ses_a") != nil {
			t.Errorf("%+v", w.list())
		}
	})
}

// On a full disk a share is revoked nevertheless: the reserve is freed, and without one it is not served by this process.
func TestRevocationOnAFullDisk(t *testing.T) {
	for name, room := range map[string]bool{"with a reserve": true, "without a reserve": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				s := w.share(share.Options{PageURL: "http://pages"})
				w.settle(time.Second)
				dir := filepath.Dir(w.file)
				if err := os.RemoveAll(dir); err != nil { // nothing can be written
					t.Fatal(err)
				}
				w.makeRoom = func() bool { return room && os.Mkdir(dir, 0o700) == nil }
				_, err := w.outbox.Revoke(context.Background(), "ses_a")
				if (err == nil) != room || err != nil && !strings.Contains(err.Error(), "when the disk has space") {
					t.Error(err)
				}
				found, ok, err := w.outbox.Registry.Find(s.ID)
				if err != nil || ok == room || ok && found.IsActive(time.Now()) || w.shareOf("ses_a") != nil {
					t.Errorf("%+v %v %v", found, ok, err)
				}
			})
		})
	}
}

// A list of a share to which nothing was uploaded is empty before the deletion, too: it confirms no deletion that got no
// answer. Caches are not asked.
func TestEmptyListConfirmsNothing(t *testing.T) {
	for _, fault := range []sharetarget.Fault{sharetarget.Down, sharetarget.Missing} {
		play(t, func(w *world) {
			w.server.Fail(sharetarget.Down, sharetarget.Sync)
			s := w.share(remote)
			w.settle(10 * time.Second)
			w.server.Fail(fault, sharetarget.Delete)
			if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt == 0 {
				t.Errorf("%s: %+v %v", fault, result, err)
			}
			w.server.Recover()
			w.settle(time.Hour)
			if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
				t.Errorf("%s: %+v", fault, w.list())
			}
			for _, r := range w.server.Requests() {
				if r.Operation == sharetarget.Data && r.Header.Get("Cache-Control") != "no-cache" {
					t.Errorf("%s: %v", fault, r.Header)
				}
			}
		})
	}
}

// The server may still process an upload that got no answer: a revocation is checked again after a while.
func TestRevocationAfterAnUploadWithoutAnswer(t *testing.T) {
	for fault, attempt := range map[sharetarget.Fault]time.Duration{
		sharetarget.Held: 61 * time.Second, sharetarget.TimedOut: time.Second,
	} {
		play(t, func(w *world) {
			w.server.Fail(fault, sharetarget.Sync)
			w.share(remote)
			w.settle(attempt) // the first one has ended, the second one not begun
			w.server.Recover()
			result, err := w.outbox.Revoke(context.Background(), "ses_a")
			if err != nil || result.RevokedAt == 0 {
				t.Errorf("%s: %+v %v", fault, result, err)
			}
			w.settle(5 * time.Minute)
			if len(w.list()) > 0 {
				t.Errorf("%s: %+v", fault, w.list())
			}
		})
	}
}

// A revocation covers an earlier share of the session that is still being revoked.
func TestRevocationOfAllShares(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down, sharetarget.Delete)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		page := share.Options{PageURL: "http://pages"}
		w.share(page)
		if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt == 0 || result.Failure == "" {
			t.Errorf("%+v %v", result, err)
		}
		w.share(page)
		w.server.Recover()
		if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt != 0 {
			t.Errorf("%+v %v", result, err)
		}
		if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
	})
}

// The failure of a revocation names what answers, when that is no share server.
func TestRevocationNamesWhatAnswers(t *testing.T) {
	for fault, want := range map[sharetarget.Fault]string{
		sharetarget.Page:     "does not answer as a share server",
		sharetarget.Empty:    "does not answer as a share server",
		sharetarget.KeepData: "still serves the share",
	} {
		play(t, func(w *world) {
			w.share(remote)
			w.settle(time.Second)
			w.server.Fail(fault, sharetarget.Delete)
			if fault != sharetarget.KeepData {
				w.server.Fail(fault, sharetarget.Data)
			}
			result, err := w.outbox.Revoke(context.Background(), "ses_a")
			if err != nil || !strings.Contains(result.Failure, want) {
				t.Errorf("%s: %q, %v", fault, result.Failure, err)
			}
			w.server.Recover()
			w.settle(time.Minute)
		})
	}
}
