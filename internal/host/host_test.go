package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestSecondOpenIsClient(t *testing.T) {
	home, _ := newHome(t)
	owner := open(t, optionsOf(home))
	client := open(t, optionsOf(home))
	id := create(t, client, "one")
	if s, err := owner.API.Session(t.Context(), id); err != nil || s.Title != "one" {
		t.Errorf("the owner sees %v, %v", s, err)
	}
	closeIt(t, client)
	if _, err := sqlite.AcquireLease(filepath.Join(home, "data"), sqlite.Owner{}); !errors.Is(err, sqlite.ErrHeld) {
		t.Errorf("a client's end took the folder from its owner: %v", err)
	}
	client = open(t, optionsOf(home))
	closeIt(t, owner)
	if _, err := client.API.Session(t.Context(), id); err == nil {
		t.Error("the owner has gone and still answers")
	}
	closeIt(t, client)
	o := optionsOf(home)
	o.Read = true
	reader := open(t, o)
	lease, err := sqlite.AcquireLease(filepath.Join(home, "data"), sqlite.Owner{})
	if err != nil {
		t.Fatalf("a reader owns the folder: %v", err)
	}
	if _, err := reader.API.Session(t.Context(), id); err != nil {
		t.Error(err)
	}
	closeIt(t, reader)
	addEndedApproval(t, filepath.Join(home, "data"))
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	next := open(t, optionsOf(home))
	defer closeIt(t, next)
	if list, err := next.API.Approvals(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("approvals of a process that ended: %v, %v", list, err)
	}
	if _, err := next.API.Session(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// addEndedApproval stores an approval that held until an earlier process ended.
func addEndedApproval(t *testing.T, dir string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		return tx.PutApproval(store.Approval{
			ID: "psv_1", RecordID: "prj_gone", Action: "bash", Resource: "*", Lifetime: session.LifetimeProcess, Holder: "gone",
		})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// Commands that become the owner after a crash resume no work and ask no model; a server resumes it and says so.
func TestOwnerDies(t *testing.T) {
	home, v, id := killed(t)
	close(v.released)
	for range 2 {
		c := open(t, optionsOf(home))
		active, err := c.API.Active(t.Context())
		if err != nil || active[id].Type != api.TypeUnfinished || active[id].Directory != optionsOf(home).Dir {
			t.Errorf("a command works on %v, %v", active, err)
		}
		if _, err := c.API.Prompt(t.Context(), create(t, c, "Other"), say("hi")); err != nil {
			t.Error(err)
		}
		closeIt(t, c)
	}
	if n := v.asked.Load(); n != 3 { // once before the crash
		t.Fatalf("the vendor was asked %d times", n)
	}
	resumeByServer(t, home, v, id)
}

// TestRelayResumesWork: a server that starts while a command owns the data makes the command resume what was cut off.
func TestRelayResumesWork(t *testing.T) {
	home, v, id := killed(t)
	close(v.released)
	owner := open(t, optionsOf(home))
	before := v.asked.Load()
	relay := serve(t, optionsOf(home))
	if got := answer(t, owner, id); got != "Hello." || v.asked.Load() != before+1 {
		t.Errorf("the answer is %q, the vendor was asked %d times", got, v.asked.Load()-before)
	}
	relay.end()
	if err := <-relay.ended; err != nil {
		t.Error(err)
	}
	closeIt(t, owner)
}

// resumeByServer starts a server and checks that it resumes the session, says so and asks the vendor once.
func resumeByServer(t *testing.T, home string, v *vendor, id session.ID) {
	t.Helper()
	before := v.asked.Load()
	o := optionsOf(home)
	notes := make(chan string, 4)
	o.Note = func(text string) { notes <- text }
	s := serve(t, o)
	if note := <-notes; !strings.Contains(note, "resuming the session "+string(id)+" of "+o.Dir) {
		t.Errorf("note %q", note)
	}
	c := open(t, optionsOf(home))
	if got := answer(t, c, id); got != "Hello." || v.asked.Load() != before+1 {
		t.Errorf("the answer is %q, the vendor was asked %d times", got, v.asked.Load())
	}
	closeIt(t, c)
	s.end()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// An owner lets the work of its clients come to an end.
func TestLinger(t *testing.T) {
	home, v := newHome(t)
	owner, client := open(t, optionsOf(home)), open(t, optionsOf(home))
	id := create(t, client, "Work")
	prompt(t, client, v, id)
	closing, closed := make(chan struct{}), make(chan error)
	go func() {
		close(closing)
		closed <- owner.Close(context.WithoutCancel(t.Context()))
	}()
	<-closing
	close(v.released)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	closeIt(t, client)
	next := open(t, optionsOf(home))
	defer closeIt(t, next)
	if got := answer(t, next, id); got != "Hello." || v.asked.Load() != 1 {
		t.Errorf("the answer is %q, the vendor was asked %d times", got, v.asked.Load())
	}
}

// An owner that may not wait cuts the work, and the next server goes on.
func TestHandOver(t *testing.T) {
	home, v := newHome(t)
	owner := open(t, optionsOf(home))
	id := create(t, owner, "Work")
	prompt(t, owner, v, id)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := owner.Close(gone); err != nil {
		t.Error(err)
	}
	close(v.released)
	resumeByServer(t, home, v, id)
}

// An owner that does not answer is waited out.
func TestStaleLease(t *testing.T) {
	home, _ := newHome(t)
	data := filepath.Join(home, "data")
	lease, err := sqlite.AcquireLease(data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(home, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := lease.Update((&url.URL{Scheme: "unix", Path: socket}).String()); err != nil {
		t.Fatal(err)
	}
	tried := make(chan error, 1)
	go func() { // it dies when it is asked
		c, err := l.Accept()
		if err == nil {
			err = errors.Join(c.Close(), lease.Release())
		}
		tried <- err
	}()
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	if err := <-tried; err != nil {
		t.Error(err)
	}
	if h, err := c.API.Health(t.Context()); err != nil || h.PID != os.Getpid() {
		t.Errorf("health %v, %v", h, err)
	}
}

// An owner that never answers is an error when the caller's patience ends.
func TestDeafOwner(t *testing.T) {
	home, _ := newHome(t)
	lease, err := sqlite.AcquireLease(filepath.Join(home, "data"), sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Release() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Host{}.Open(ctx, optionsOf(home))
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeUnavailable ||
		!strings.Contains(e.Message, home) {
		t.Errorf("error %v", err)
	}
}

// TestServeWhileAnOwnerEnds: a server that starts while the owner answers one request and ends waits for the lease.
func TestServeWhileAnOwnerEnds(t *testing.T) {
	home, _ := newHome(t)
	data := filepath.Join(home, "data")
	lease, err := sqlite.AcquireLease(data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", discovery.SocketPath(data))
	if err != nil {
		t.Fatal(err)
	}
	answered := false
	owner := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answered {
			panic(http.ErrAbortHandler)
		}
		answered = true
		_, _ = w.Write([]byte(`{"healthy":true,"pid":4711}`))
	})}
	go func() { _ = owner.Serve(l) }()
	defer owner.Close()
	if err := lease.Update("unix://" + discovery.SocketPath(data)); err != nil {
		t.Fatal(err)
	}
	dirs, err := config.FindDirectories(optionsOf(home).Env)
	if err != nil {
		t.Fatal(err)
	}
	got, health, err := acquireLeaseOrOwner(t.Context(), dirs, optionsOf(home))
	if got != nil || err != nil || health.PID != 4711 {
		t.Errorf("lease %v, owner %+v: %v", got, health, err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestRecordingNeedsItsOwn(t *testing.T) {
	home, _ := newHome(t)
	owner := open(t, optionsOf(home))
	defer closeIt(t, owner)
	for name, set := range map[string]func(*client.Options){
		"record": func(o *client.Options) { o.Record = filepath.Join(home, "c") },
		"replay": func(o *client.Options) { o.Replay = filepath.Join(home, "c") },
	} {
		o := optionsOf(home)
		set(&o)
		_, err := Host{}.Open(t.Context(), o)
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// serving is a server that runs until end is called.
type serving struct {
	client.Listening
	end   context.CancelFunc
	ended chan error
}

func serve(t *testing.T, o client.Options) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &serving{end: cancel, ended: make(chan error, 1)}
	ready := make(chan client.Listening, 1)
	go func() {
		s.ended <- Host{}.Serve(ctx, client.ServeOptions{Options: o, Hostname: "127.0.0.1"},
			func(l client.Listening) { ready <- l })
	}()
	select {
	case s.Listening = <-ready:
	case err := <-s.ended:
		t.Fatal(err)
	}
	return s
}

// Two servers have addresses of their own and the same sessions; when the first ends, the second goes on at its
// address, and owns the data.
func TestServeTwice(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	first := serve(t, o)
	notes := make(chan string, 4)
	o.Note = func(text string) { notes <- text }
	second := serve(t, o)
	if note := <-notes; first.URL == second.URL || !strings.Contains(note, fmt.Sprintf("process %d owns", first.PID)) {
		t.Errorf("%s and %s; %q", first.URL, second.URL, note)
	}
	secret, err := discovery.LoadSecret(filepath.Join(home, "data"))
	if err != nil {
		t.Fatal(err)
	}
	client := api.Client{Auth: api.Auth{Secret: secret}, Base: second.URL, Directory: o.Dir}
	if _, err := (&api.Client{Base: second.URL}).Health(t.Context()); err == nil {
		t.Error("a request of the server to itself needs no credential")
	}
	made, err := client.Create(t.Context(), api.CreateSession{Title: "by the second"})
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, optionsOf(home))
	if got, err := c.API.Session(t.Context(), made.ID); err != nil || got.Title != made.Title {
		t.Errorf("the first says %v, %v", got, err)
	}
	closeIt(t, c)
	first.end()
	if err := <-first.ended; err != nil {
		t.Error(err)
	}
	if note := <-notes; !strings.Contains(note, "owns it now") {
		t.Errorf("note %q", note)
	}
	if got, err := client.Session(t.Context(), made.ID); err != nil || got.Title != made.Title {
		t.Errorf("the second says %v, %v", got, err)
	}
	second.end()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
}

// TestLeaseAndSocketRemoved: a server whose lease file and socket were removed stops with the reason, and leaves the
// next owner its socket.
func TestLeaseAndSocketRemoved(t *testing.T) {
	home, _ := newHome(t)
	data := filepath.Join(home, "data")
	o := optionsOf(home)
	first := serve(t, o)
	if err := errors.Join(os.Remove(filepath.Join(data, "lease")), os.Remove(discovery.SocketPath(data))); err != nil {
		t.Fatal(err)
	}
	second := serve(t, o)
	if err := <-first.ended; !errors.Is(err, store.ErrLeaseLost) || !strings.Contains(err.Error(), "lease was re") {
		t.Errorf("the first ends with %v", err)
	}
	c := open(t, o)
	if _, err := c.API.Create(t.Context(), api.CreateSession{Title: "by the second"}); err != nil || c.Owner == "" {
		t.Errorf("owner %q: %v", c.Owner, err)
	}
	closeIt(t, c)
	second.end()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
}

// An invalid configuration is reported with its position, and nothing is started; the sessions are listed.
func TestBrokenConfiguration(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	wrong := func(err error) {
		t.Helper()
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeInvalid ||
			!strings.Contains(e.Message, "cairn.json:2") {
			t.Errorf("error %v", err)
		}
	}
	c := open(t, o)
	write(t, filepath.Join(o.Dir, "cairn.json"), "{\n  \"permission\": 7\n}")
	_, err := c.API.Create(t.Context(), api.CreateSession{})
	wrong(err)
	if page, err := c.API.Sessions(t.Context(), api.SessionQuery{}); err != nil || len(page.Data) > 0 {
		t.Errorf("sessions %v, %v", page.Data, err)
	}
	write(t, filepath.Join(o.Dir, "cairn.json"), "{}")
	create(t, c, "mended")
	closeIt(t, c)
	write(t, filepath.Join(home, "config", "cairn.json"), "{\n  oops}")
	c = open(t, o)
	defer closeIt(t, c)
	_, err = c.API.Create(t.Context(), api.CreateSession{})
	wrong(err)
	if page, err := c.API.Sessions(t.Context(), api.SessionQuery{}); err != nil || len(page.Data) != 1 {
		t.Errorf("sessions %v, %v", page.Data, err)
	}
}

// TestRunWithBareModel: a configured model without a provider is refused before a session is created.
func TestRunWithBareModel(t *testing.T) {
	home, v := newHome(t)
	o := optionsOf(home)
	write(t, filepath.Join(o.Dir, "cairn.json"), `{"model": "main"}`)
	if code, said := typed(t, o, "run", "hi"); code != int(cli.ExitUsage) || !strings.Contains(said, "mock/main") {
		t.Errorf("exit %d: %s", code, said)
	}
	c := open(t, o)
	if page, err := c.API.Sessions(t.Context(), api.SessionQuery{}); err != nil || len(page.Data) > 0 {
		t.Errorf("sessions %v, %v", page.Data, err)
	}
	closeIt(t, c)
	close(v.released)
	if code, said := typed(t, o, "run", "-m", "mock/main", "hi"); code != 0 || !strings.Contains(said, "Hello.") {
		t.Errorf("with --model: exit %d: %s", code, said)
	}
}

// TestRunSaysMissingPage: a run says which page of its instructions was never fetched.
func TestRunSaysMissingPage(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o := optionsOf(home)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	write(t, filepath.Join(home, "config", "cairn.json"), fmt.Sprintf(`{
		"instructions": [%q], "model": "mock/main", "provider": {
		"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "k"}, "models": {"main": {}}}}}`,
		gone.URL+"/rules.md", v.URL))
	code, said := typed(t, o, "run", "hi")
	if code != 0 || !strings.Contains(said, "instructions are missing: "+gone.URL+"/rules.md") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// Keys that cannot be read are not "no keys": another model would answer.
func TestUnreadableKeys(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	c := open(t, o)
	defer closeIt(t, c)
	create(t, c, "before")
	path := filepath.Join(home, "data", "auth.json")
	write(t, path, `{"openai": "sk-secret`)
	_, err := c.API.Create(t.Context(), api.CreateSession{})
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeInvalid || !strings.Contains(e.Message, path) ||
		strings.Contains(e.Message, "sk-secret") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	create(t, c, "after")
}
