package share_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/canary"
	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// world is a store with sessions, an outbox, and a server of shares.
type world struct {
	t      *testing.T
	store  *storetest.Memory
	log    *eventlog.Log
	file   string
	outbox *share.Outbox
	server *sharetarget.Target
	mu     sync.Mutex // guards audit and onRecord
	audit  []string
	stop   func()

	viewer   store.Viewer                                           // of the outbox: store, or one that counts
	follower time.Duration                                          // how late the follower of the log starts
	disabled bool                                                   // sharing is, in the configuration
	onRecord func() error                                           // called before a session records where it is shared; may be nil
	onList   func()                                                 // called before the secrets are listed; may be nil
	makeRoom func() bool                                            // may be nil
	models   func([]session.ModelRef) ([]opencode.ModelInfo, error) // nil without models
}

// play runs a test on a world with a session in fake time.
func play(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		w := &world{t: t, store: m, viewer: m, server: sharetarget.New(), file: filepath.Join(t.TempDir(), share.FileName)}
		w.log = eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})
		w.start()
		w.add("ses_a", &session.Created{Info: session.Session{ID: "ses_a", Title: "T", Time: session.SessionTime{Created: 1, Updated: 1}}})
		w.prompt("ses_a", "first")
		f(w)
		w.stop()
	})
}

// start starts a process on the store.
func (w *world) start() {
	o := share.New(share.Config{
		Registry: share.NewRegistry(filepath.Dir(w.file)), Store: w.viewer, Log: lateLog{w.log, w.follower}, Transport: w.server, Owner: w,
		Logger: slog.New(slog.DiscardHandler),
	})
	w.outbox = o
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		o.Run(ctx)
		close(done)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
}

// lateLog is a log whose follower starts late.
type lateLog struct {
	*eventlog.Log
	delay time.Duration
}

// WatchCommits implements follower.Log.
func (l lateLog) WatchCommits() (<-chan struct{}, func()) {
	pause(l.delay)
	return l.Log.WatchCommits()
}

// RecordShare implements share.Owner.
func (w *world) RecordShare(_ context.Context, id session.ID, s *session.Share) error {
	w.mu.Lock()
	before := w.onRecord
	w.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	w.add(id, &session.Shared{Share: s})
	return nil
}

// setOnRecord sets onRecord.
func (w *world) setOnRecord(f func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onRecord = f
}

// MakeRoom implements share.Owner.
func (w *world) MakeRoom(error) bool { return w.makeRoom != nil && w.makeRoom() }

// Audit implements share.Owner.
func (w *world) Audit(_ context.Context, what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.audit = append(w.audit, what)
	return nil
}

// ListSecrets implements share.Owner.
func (w *world) ListSecrets(context.Context, *session.Session) ([]string, error) {
	if w.onList != nil {
		w.onList()
	}
	return []string{"known-secret", canary.Known}, nil
}

// ListModels implements share.Owner.
func (w *world) ListModels(_ context.Context, _ *session.Session, refs []session.ModelRef) ([]opencode.ModelInfo, error) {
	if w.models == nil {
		return []opencode.ModelInfo{}, nil
	}
	return w.models(refs)
}

// MayShare implements share.Owner.
func (w *world) MayShare(context.Context, *session.Session) bool { return !w.disabled }

func (w *world) add(id session.ID, data ...session.EventData) {
	w.t.Helper()
	_, err := w.log.Append(context.Background(), id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(data...), nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

var prompts int

func (w *world) prompt(id session.ID, text string) {
	prompts++
	w.add(id, &session.Prompted{
		MessageID: session.MessageID(fmt.Sprintf("msg_%04d", prompts)), Delivery: session.Steer, Prompt: session.Prompt{Text: text},
	})
}

func (w *world) share(options share.Options) share.Share {
	w.t.Helper()
	s, err := w.outbox.Share(context.Background(), "ses_a", options)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// pause takes time of the bubble. Unlike settle it may be called while another goroutine settles.
func pause(d time.Duration) { time.Sleep(d) }

// settle gives the outbox time.
func (w *world) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// session returns the session's share.
func (w *world) shareOf(id session.ID) *session.Share {
	s, err := store.ReadSession(context.Background(), w.store, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Share
}

// texts returns the texts of the parts that the server serves.
func (w *world) texts(remote string) (out []string) {
	for _, i := range w.server.Served(remote) {
		if i.Type == "part" {
			_, text, _ := strings.Cut(string(i.Data), `"text":"`)
			text, _, _ = strings.Cut(text, `"`)
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) list() []share.Share {
	all, err := w.outbox.Registry.List()
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

var remote = share.Options{Target: "http://share.example"}

// A shared session is uploaded once, and then its changes, without secrets.
func TestShareIsSentAndKeptUpToDate(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		if got := w.shareOf("ses_a"); got == nil || got.URL != s.URL || s.URL == "" {
			t.Fatal(got, s)
		}
		w.settle(time.Second)
		w.prompt("ses_a", "second known-secret")
		w.settle(time.Second)
		if diff := cmp.Diff([]string{"first", "second [redacted]"}, w.texts(s.RemoteID)); diff != "" {
			t.Error(diff)
		}
		// The second prompt was sent alone.
		sent := w.server.Requests()
		last := sent[len(sent)-1]
		for _, i := range last.Items {
			if strings.Contains(string(i.Data), "first") {
				t.Errorf("sent again: %s", i.Data)
			}
		}
		// The next process does not upload it again.
		n := len(sent)
		w.stop()
		w.start()
		w.settle(time.Minute)
		if sent := w.server.Requests(); len(sent) != n {
			t.Errorf("sent again after a restart: %v", sent[n:])
		}
	})
}

// Events that were committed while no process ran, or while the server was down, are sent later.
func TestShareCatchesUp(t *testing.T) {
	for _, fault := range []sharetarget.Fault{sharetarget.Down, sharetarget.Broken, sharetarget.Missing, sharetarget.Held} {
		play(t, func(w *world) {
			s := w.share(remote)
			w.settle(time.Second)
			w.server.Fail(fault, sharetarget.Sync)
			w.prompt("ses_a", "second")
			w.settle(10 * time.Second)
			w.stop()
			w.prompt("ses_a", "third")
			w.start()
			w.settle(10 * time.Second)
			if got := w.list()[0]; got.Failure == "" && fault != sharetarget.Held {
				t.Errorf("%s: %+v", fault, got)
			}
			w.server.Recover()
			w.settle(2 * time.Minute)
			if got := w.texts(s.RemoteID); len(got) != 3 || w.list()[0].Failure != "" {
				t.Errorf("%s: %q %+v", fault, got, w.list()[0])
			}
		})
	}
}

// A server that does not answer as a share server gets no share.
func TestShareIsRefused(t *testing.T) {
	for _, fault := range []sharetarget.Fault{
		sharetarget.Down, sharetarget.Broken, sharetarget.Missing, sharetarget.Page, sharetarget.Empty, sharetarget.EmptySecret,
		sharetarget.Held,
	} {
		play(t, func(w *world) {
			w.server.Fail(fault, sharetarget.Create)
			began := time.Now()
			_, err := w.outbox.Share(context.Background(), "ses_a", remote)
			if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), "http://share.example") {
				t.Errorf("%s: %v", fault, err)
			}
			if time.Since(began) > 20*time.Second || len(w.list()) > 0 || w.shareOf("ses_a") != nil {
				t.Errorf("%s: after %v %v", fault, time.Since(began), w.list())
			}
			w.server.Recover()
		})
	}
}

// An address of another host is refused, and the share that the server made is deleted.
func TestAddressOfAnotherHostIsRefused(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.OtherHost, sharetarget.Create)
		_, err := w.outbox.Share(context.Background(), "ses_a", remote)
		if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), "elsewhere.example") {
			t.Error(err)
		}
		if len(w.list()) > 0 || w.shareOf("ses_a") != nil || w.server.IsShared("ses_a") {
			t.Errorf("%+v %+v %v", w.list(), w.shareOf("ses_a"), w.server.IsShared("ses_a"))
		}
	})
}

// If the answer to an earlier request was lost, the server has a share whose secret is unknown: the error says so.
func TestShareIsHeldByTheServer(t *testing.T) {
	play(t, func(w *world) {
		r, err := http.NewRequest(http.MethodPost, remote.Target+"/api/share", strings.NewReader(`{"sessionID":"ses_a"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := w.server.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		_, err = w.outbox.Share(context.Background(), "ses_a", remote)
		if err == nil || !strings.Contains(err.Error(), "500") || !strings.Contains(err.Error(), "may hold an earlier share of this session") {
			t.Error(err)
		}
	})
}

// A revocation is complete once the server no longer serves the share, whatever it answers and however long that takes.
func TestShareIsRevoked(t *testing.T) {
	for _, fault := range []sharetarget.Fault{
		"", sharetarget.Down, sharetarget.Broken, sharetarget.Missing, sharetarget.Page, sharetarget.Empty, sharetarget.KeepData,
		sharetarget.Held,
	} {
		play(t, func(w *world) {
			s := w.share(remote)
			w.settle(time.Second)
			if fault != "" {
				w.server.Fail(fault, sharetarget.Delete)
			}
			result, err := w.outbox.Revoke(context.Background(), "ses_a")
			if isGone := !w.server.IsShared(s.RemoteID); err != nil || isGone != (result.RevokedAt == 0) || isGone != (fault == "") {
				t.Errorf("%s: %+v %v", fault, result, err)
			}
			if w.shareOf("ses_a") != nil {
				t.Errorf("%s: the session says that it is shared", fault)
			}
			// It is tried again, also by the next process, and nothing is sent meanwhile.
			w.prompt("ses_a", "later")
			w.settle(time.Hour)
			w.stop()
			w.start()
			w.settle(time.Hour)
			if got := w.texts(s.RemoteID); len(got) > 1 || len(w.list()) == 0 != (fault == "") {
				t.Errorf("%s: %q %+v", fault, got, w.list())
			}
			w.server.Recover()
			w.settle(2 * time.Hour)
			if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
				t.Errorf("%s: %+v", fault, w.list())
			}
		})
	}
}

// The answer to a deletion can be lost. OpenCode's server answers an error to the second deletion.
func TestRevocationIsRepeated(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Broken, sharetarget.Data)
		if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt == 0 {
			t.Errorf("%+v %v", result, err)
		}
		w.server.Recover()
		w.settle(time.Minute)
		if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
	})
}

// A proxy whose server is down answers not found: that confirms a revocation after one hour only.
func TestRevocationIsProven(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Missing)
		result, err := w.outbox.Revoke(context.Background(), "ses_a")
		if err != nil || result.RevokedAt == 0 {
			t.Errorf("%+v %v", result, err)
		}
		w.settle(30 * time.Minute)
		w.server.Recover()
		w.settle(time.Hour)
		if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
		// A server that has gone for good.
		w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Missing)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Error(err)
		}
		w.settle(3 * time.Hour)
		if len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
	})
}

// The end of the process is not a failure of the server, and there is one last attempt.
func TestEndIsNoFailure(t *testing.T) {
	play(t, func(w *world) {
		w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down, sharetarget.Delete)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		w.server.Fail(sharetarget.Held, sharetarget.Delete)
		w.settle(2 * time.Second) // the second attempt is under way
		w.stop()
		if s := w.list()[0]; !strings.Contains(s.Failure, "no answer within 3s") || s.Attempts != 2 { // the last one
			t.Errorf("%+v", s)
		}
		w.start()
		w.server.Recover()
		w.settle(time.Minute)
		if len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
	})
}

// A revocation cancels an upload, and is checked again later: the server may process the upload after the deletion.
func TestRevocationInTheMiddleOfASync(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Held, sharetarget.Sync)
		s := w.share(remote)
		w.settle(time.Second) // the sync is under way
		result, err := w.outbox.Revoke(context.Background(), "ses_a")
		if err != nil || result.RevokedAt == 0 || !strings.Contains(result.Failure, "checks again in 2 minutes") {
			t.Errorf("%+v %v", result, err)
		}
		w.server.Recover()
		w.settle(5 * time.Minute)
		if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
			t.Errorf("%+v", w.list())
		}
	})
}

// If nothing can be recorded, as on a full disk, a revocation is retried once a minute.
func TestUnrecordedFailuresWait(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(share.Options{Target: remote.Target, Expires: time.Hour})
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down)
		if err := os.RemoveAll(filepath.Dir(w.file)); err != nil { // nothing can be written
			t.Fatal(err)
		}
		before := len(w.server.Requests())
		w.settle(2 * time.Hour)
		if n := len(w.server.Requests()) - before; n < 10 || n > 200 {
			t.Errorf("%d requests in an hour", n)
		}
		w.server.Recover()
		w.settle(2 * time.Minute)
		if w.server.IsShared(s.RemoteID) {
			t.Error("the share is still there")
		}
	})
}

// After sharing was disabled, nothing more is sent, and the share can be revoked.
func TestDisabledSendsNothing(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.disabled = true
		w.prompt("ses_a", "second")
		w.settle(time.Minute)
		if got := w.texts(s.RemoteID); len(got) != 1 {
			t.Errorf("%q", got)
		}
		if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt != 0 {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// An automatic share that waits for its server is not created after sharing was disabled.
func TestDisabledCreatesNothing(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Down)
		if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Second)
		w.stop()
		w.disabled = true
		w.server.Recover()
		n := len(w.server.Requests())
		w.start()
		w.settle(time.Hour)
		if sent := w.server.Requests()[n:]; len(sent) > 0 || w.shareOf("ses_a") != nil {
			t.Errorf("%v %v", sent, w.shareOf("ses_a"))
		}
	})
}

// A session is not shared again before its earlier share is deleted from the server.
func TestShareAfterRevocation(t *testing.T) {
	play(t, func(w *world) {
		w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down, sharetarget.Delete)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.outbox.Share(context.Background(), "ses_a", remote); err == nil || !strings.Contains(err.Error(), "earlier share") {
			t.Error(err)
		}
		w.server.Recover()
		if s := w.share(remote); !w.server.IsShared(s.RemoteID) || len(w.list()) != 1 {
			t.Errorf("%+v", w.list())
		}
	})
}

// The deletion of a session revokes its share, also if the server is down, and if no process followed the deletion.
func TestDeletionRevokes(t *testing.T) {
	for _, seen := range []bool{true, false} {
		play(t, func(w *world) {
			s := w.share(remote)
			w.settle(time.Second)
			w.server.Fail(sharetarget.Down)
			if !seen {
				w.stop()
			}
			err := w.log.AppendDeleted(context.Background(), "ses_a", session.Session{ID: "ses_a"}, func(tx store.Tx) error {
				return tx.DeleteSession("ses_a")
			})
			if err != nil {
				t.Fatal(err)
			}
			if !seen {
				w.start()
			}
			w.settle(time.Minute)
			if all := w.list(); len(all) != 1 || all[0].RevokedAt == 0 || all[0].Failure == "" {
				t.Errorf("seen %v: %+v", seen, all)
			}
			w.server.Recover()
			w.settle(time.Hour)
			if w.server.IsShared(s.RemoteID) || len(w.list()) > 0 {
				t.Errorf("seen %v: %+v", seen, w.list())
			}
			if last := w.audit[len(w.audit)-1]; !strings.Contains(last, "ses_a is revoked") {
				t.Errorf("audit: %q", w.audit)
			}
		})
	}
}

// A revocation that the server does not confirm is abandoned after 30 days, and stays in the list.
func TestRevocationIsGivenUp(t *testing.T) {
	play(t, func(w *world) {
		w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.KeepData, sharetarget.Delete)
		if _, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		w.settle(31 * 24 * time.Hour)
		n := len(w.server.Requests())
		w.settle(10 * 24 * time.Hour)
		if all := w.list(); len(all) != 1 || !all[0].IsAbandoned(time.Now()) || len(w.server.Requests()) != n || n > 2000 {
			t.Errorf("%d requests, then %d: %+v", n, len(w.server.Requests())-n, all)
		}
		// A person can try again.
		w.server.Recover()
		if result, err := w.outbox.Revoke(context.Background(), "ses_a"); err != nil || result.RevokedAt != 0 || len(w.list()) != 0 {
			t.Errorf("%+v %v", result, err)
		}
	})
}

func TestShareExpires(t *testing.T) {
	for _, target := range []string{remote.Target, ""} {
		play(t, func(w *world) {
			s := w.share(share.Options{Target: target, PageURL: "http://pages", Expires: time.Hour})
			w.settle(59 * time.Minute)
			if got := w.shareOf("ses_a"); got == nil || got.Expires == 0 || !s.IsActive(time.Now()) {
				t.Errorf("%q: %+v", target, got)
			}
			w.settle(2 * time.Minute)
			if w.shareOf("ses_a") != nil || len(w.list()) > 0 || w.server.IsShared(s.RemoteID) || s.IsActive(time.Now()) {
				t.Errorf("%q: %+v", target, w.list())
			}
		})
	}
}

// An automatic share does not wait for the server, and is retried.
func TestShareLater(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Down)
		if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
			t.Fatal(err)
		}
		w.settle(time.Minute)
		w.stop()
		w.server.Recover()
		w.start()
		w.settle(2 * time.Minute)
		all := w.list()
		if len(all) != 1 || len(w.texts(all[0].RemoteID)) != 1 || w.shareOf("ses_a") == nil {
			t.Errorf("%+v", all)
		}
	})
}

// The next process completes or removes a share that its predecessor did not complete.
func TestShareIsCutOff(t *testing.T) {
	for _, c := range []struct {
		name, shares string
		want         *session.Share
		count        int
	}{
		{"before the answer", `{"id":"x","sessionID":"ses_a","created":1,"target":"http://share.example","syncedSeq":-1}`, nil, 0},
		{"before the session", `{"id":"x","sessionID":"ses_a","url":"http://p/s/x","created":1}`, &session.Share{URL: "http://p/s/x"}, 1},
		{"in the revocation", `{"id":"x","sessionID":"ses_a","url":"http://p/s/x","created":1,"revokedAt":946684800000}`, nil, 0},
		{"of a deleted session", `{"id":"x","sessionID":"ses_gone","url":"http://p/s/x","created":1}`, nil, 0},
	} {
		play(t, func(w *world) {
			w.stop()
			text := `{"version":2,"shares":[` + c.shares + `]}`
			if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.settle(5 * time.Second)
			if diff := cmp.Diff(c.want, w.shareOf("ses_a")); diff != "" || len(w.list()) != c.count {
				t.Errorf("%s: %s %+v", c.name, diff, w.list())
			}
		})
	}
}

// A share list that cannot be read is not overwritten: it has the secrets that revoke the shares.
func TestDamagedRegistry(t *testing.T) {
	for _, text := range []string{`{"version":2,"shares":[`, `{"version":3,"shares":[]}`, `{"version":2,"shares":[],"more":1}`} {
		play(t, func(w *world) {
			w.stop()
			if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			w.start()
			_, err := w.outbox.Share(context.Background(), "ses_a", remote)
			if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), share.FileName) {
				t.Errorf("%s: %v", text, err)
			}
			if got, err := os.ReadFile(w.file); err != nil || string(got) != text {
				t.Errorf("%s: became %s %v", text, got, err)
			}
			if n := len(w.server.Requests()); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Sharing a session again returns its share.
func TestShareTwice(t *testing.T) {
	play(t, func(w *world) {
		first := w.share(remote)
		if again := w.share(share.Options{PageURL: "http://pages"}); again.URL != first.URL {
			t.Error(first, again)
		}
		// It can get an end, which the session says as well.
		if again := w.share(share.Options{Expires: time.Hour, Extend: true}); again.URL != first.URL || again.Expires == 0 ||
			w.shareOf("ses_a").Expires != again.Expires {
			t.Error(again, w.shareOf("ses_a"))
		}
		info, err := os.Stat(w.file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
	})
}

// The audit log has an entry for each share, and one for a share that its server refused, but none for a request that found
// a share.
func TestAuditOfShares(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.Broken, sharetarget.Create)
		if _, err := w.outbox.Share(context.Background(), "ses_a", remote); err == nil {
			t.Error("the server did not fail")
		}
		w.server.Recover()
		w.share(remote)
		w.share(remote)
		if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
			t.Error(err)
		}
		const at = " ses_a at http://share.example"
		if diff := cmp.Diff([]string{"share" + at, "not shared:" + at, "share" + at}, w.audit); diff != "" {
			t.Error(diff)
		}
	})
}

// A create under way is not cut off, by another request, by a revocation or by the end of the process: the server would
// have a share whose secret nobody knows.
func TestCreateIsNotCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(w *world) error
		shared    bool // in the end
	}{
		"shared again": {func(w *world) error {
			s, err := w.outbox.Share(context.Background(), "ses_a", remote)
			if err == nil && s.URL == "" {
				err = errors.New("it has no address")
			}
			return err
		}, true},
		"revoked": {func(w *world) error {
			_, err := w.outbox.Revoke(context.Background(), "ses_a")
			return err
		}, false},
		"the process ends": {func(w *world) error { w.stop(); w.start(); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.server.Fail(sharetarget.Late, sharetarget.Create)
				if err := w.outbox.ShareLater(context.Background(), "ses_a", remote); err != nil {
					t.Fatal(err)
				}
				w.settle(time.Second) // the create of the automatic share is under way
				done := make(chan error, 1)
				go func() { done <- c.meanwhile(w) }()
				w.settle(time.Second)
				w.server.Recover()
				if err := <-done; err != nil {
					t.Error(err)
				}
				w.settle(time.Minute)
				if len(w.list()) != map[bool]int{true: 1}[c.shared] || w.server.IsShared("ses_a") != c.shared {
					t.Errorf("%+v, at the server: %v", w.list(), w.server.IsShared("ses_a"))
				}
			})
		})
	}
}

// An answer with an address that is not one is refused, and the share of it deleted.
func TestBadAddressIsDeleted(t *testing.T) {
	play(t, func(w *world) {
		w.server.Fail(sharetarget.BadURL, sharetarget.Create)
		if _, err := w.outbox.Share(context.Background(), "ses_a", remote); err == nil {
			t.Error("the share has an address")
		}
		if len(w.list()) > 0 || w.server.IsShared("ses_a") {
			t.Errorf("%+v, at the server: %v", w.list(), w.server.IsShared("ses_a"))
		}
	})
}

// A page in place of the answer to an upload is a failure, and the upload is repeated.
func TestPageIsNoAnswer(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Page, sharetarget.Sync)
		w.prompt("ses_a", "second")
		w.settle(time.Second)
		w.server.Recover()
		w.settle(time.Minute)
		if got := w.texts(s.RemoteID); len(got) != 2 {
			t.Errorf("%q %+v", got, w.list())
		}
	})
}
