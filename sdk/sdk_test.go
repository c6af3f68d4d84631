package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// Addresses and options that cannot be used are named, and nothing is connected.
func TestDialErrors(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/opencode/api/health" {
			fmt.Fprint(w, `{"healthy":true}`)
			return
		}
		fmt.Fprint(w, "<html>")
	}))
	defer other.Close()
	home := t.TempDir()
	for name, c := range map[string]struct {
		address string
		options *sdk.DialOptions
		code    sdk.Code
		text    string
	}{
		"no server":        {"", &sdk.DialOptions{Home: home}, sdk.CodeUnreachable, "no cairn server runs for " + home},
		"no socket":        {"unix://" + home + "/none", nil, sdk.CodeUnreachable, "no cairn server runs at " + home},
		"no listener":      {"http://127.0.0.1:1", nil, sdk.CodeUnreachable, "connection refused"},
		"a page":           {other.URL, nil, sdk.CodeUnreachable, "malformed response"},
		"OpenCode":         {other.URL + "/opencode", nil, sdk.CodeUnreachable, "is not a cairn server"},
		"a scheme":         {"ftp://localhost", nil, sdk.CodeInvalid, `"ftp://localhost" is not an address`},
		"a secret, silent": {"http://u:secret@127.0.0.1:1", nil, sdk.CodeUnreachable, "connection refused"},
		"a secret, OpenCode": {
			strings.Replace(other.URL, "//", "//u:secret@", 1) + "/opencode", nil, sdk.CodeUnreachable, "is not a cairn server",
		},
		"a secret, a scheme": {"htp://u:secret@host", nil, sdk.CodeInvalid, `"htp://host" is not an address`},
		"a secret, no URL":   {"http://u:secret@host name", nil, sdk.CodeInvalid, "the address is not a URL"},
		"a secret, a port":   {"http://u:secret/x@host", nil, sdk.CodeInvalid, "the address is not a URL"},
		"a secret, opaque":   {"u:secret@host", nil, sdk.CodeInvalid, `"u:" is not an address`},
		"a relative home":    {"", &sdk.DialOptions{Home: "x"}, sdk.CodeInvalid, `"x" is not an absolute path`},
		"a relative project": {"", &sdk.DialOptions{Directory: "x"}, sdk.CodeInvalid, `"x" is not an absolute path`},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := sdk.Dial(t.Context(), c.address, c.options)
			if client != nil || !hasCode(err, c.code) || !strings.Contains(err.Error(), c.text) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, sdk.ErrNoServer) != strings.HasPrefix(c.text, "no cairn") {
				t.Errorf("ErrNoServer of %v", err)
			}
		})
	}
}

// A program may have a default transport of another type, as libraries for tracing install.
func TestDialTransport(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = http.NewFileTransport(http.Dir(t.TempDir()))
	if _, err := sdk.Dial(t.Context(), "http://127.0.0.1:1", nil); !hasCode(err, sdk.CodeUnreachable) {
		t.Errorf("got %v", err)
	}
}

// A program finds the server of a home, which here is another store of this process, and shares its sessions.
func TestDialHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	model := cairntest.NewModel(cairntest.Turn(cairntest.Text("Hello.")))
	store := cairntest.Open(t, &embed.Options{Home: home, Models: []embed.Model{model.Model()}})
	client, err := sdk.Dial(t.Context(), "", &sdk.DialOptions{Home: home, Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := newSession(t, client)
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "hello"}); err != nil || r.Text != "Hello." {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := store.Client().OpenSession(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
}

// Sessions are listed in pages, found by their title, and gone once they are deleted.
func TestSessions(t *testing.T) {
	c := open(t)
	const most = 205
	for i := range most {
		if _, err := c.CreateSession(t.Context(), &sdk.SessionOptions{Title: fmt.Sprintf("number %d.", i)}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(f *sdk.SessionFilter) (n int) {
		for _, err := range c.Sessions(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := count(nil); n != most {
		t.Errorf("%d sessions", n)
	}
	// One value is ranged over again, from its beginning.
	all, n := c.Sessions(t.Context(), nil), 0
	for range all {
		if n++; n == most/2 {
			break
		}
	}
	n = 0
	for range all {
		n++
	}
	if n != most {
		t.Errorf("%d sessions after a loop that ended early", n)
	}
	if n := count(&sdk.SessionFilter{Search: "number 20."}); n != 1 {
		t.Errorf("%d sessions with the title", n)
	}
	for info, err := range c.Sessions(t.Context(), &sdk.SessionFilter{Search: "number 20."}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DeleteSession(t.Context(), info.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := c.OpenSession(t.Context(), info.ID); !sdk.IsNotFound(err) {
			t.Errorf("after the deletion: %v", err)
		}
	}
}

// Invalid requests name their field, and change nothing.
func TestInvalidRequests(t *testing.T) {
	c := open(t)
	s := newSession(t, c)
	create := func(o *sdk.SessionOptions) error { _, err := c.CreateSession(t.Context(), o); return err }
	prompt := func(p sdk.Prompt) error { _, err := s.Prompt(t.Context(), p); return err }
	for name, c := range map[string]struct {
		err   func() error
		field string
	}{
		"model":  {func() error { return create(&sdk.SessionOptions{Model: "x"}) }, "Model"},
		"id":     {func() error { return create(&sdk.SessionOptions{ID: "x"}) }, "id"},
		"schema": {func() error { return prompt(sdk.Prompt{Text: "x", Schema: []byte("{")}) }, "Schema"},
		"empty":  {func() error { return prompt(sdk.Prompt{}) }, "prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			e, ok := errors.AsType[*sdk.Error](c.err())
			if !ok || e.Code != sdk.CodeInvalid || !strings.Contains(e.Field, c.field) {
				t.Errorf("got %+v", e)
			}
		})
	}
	if n := countMessages(t, s); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// Many goroutines use one client at a time.
func TestConcurrentCalls(t *testing.T) {
	c := open(t)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			s, err := c.CreateSession(t.Context(), &sdk.SessionOptions{Title: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			if info, err := s.Info(t.Context()); err != nil || info.Title != fmt.Sprint(i) {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
	calls.Wait()
}

// Close ends the calls that wait, those that follow work included, and later ones.
func TestClose(t *testing.T) {
	started := make(chan struct{}, 1)
	model := embed.Model{ID: "slow", Generate: func(ctx context.Context, _ *embed.Request) iter.Seq2[embed.Chunk, error] {
		return func(func(embed.Chunk, error) bool) {
			started <- struct{}{}
			<-ctx.Done()
		}
	}}
	client := cairntest.Open(t, &embed.Options{Models: []embed.Model{model}}).Client()
	s := newSession(t, client)
	if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	<-started
	// follow ranges over events, and says when the first one came.
	follow := func(events iter.Seq2[sdk.Event, error], first chan<- struct{}) (last error) {
		for _, err := range events {
			if first != nil {
				close(first)
				first = nil
			}
			last = err
		}
		return last
	}
	ran, followed := make(chan struct{}), make(chan struct{})
	calls := map[string]func() error{
		"events": func() error { return follow(s.Events(t.Context(), -1), followed) },
		"run":    func() error { return follow(s.Run(t.Context(), sdk.Prompt{Text: "run", Queue: true}), ran) },
		"do":     func() error { _, err := s.Do(t.Context(), sdk.Prompt{Text: "do", Queue: true}); return err },
		"wait":   func() error { return s.Wait(t.Context()) },
	}
	var running sync.WaitGroup
	for name, call := range calls {
		running.Go(func() {
			if err := call(); !errors.Is(err, sdk.ErrClosed) {
				t.Errorf("%s ended with %v", name, err)
			}
		})
	}
	<-ran
	<-followed
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	running.Wait()
	if _, err := s.Info(t.Context()); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("a later call: %v", err)
	}
}

// After Close nothing reaches the server.
func TestCallsAfterClose(t *testing.T) {
	store := cairntest.Open(t, nil)
	home := store.Client()
	s := newSession(t, home)
	if err := home.Close(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "late"}); !errors.Is(err, sdk.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	}
}
