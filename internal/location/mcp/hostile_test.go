package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
)

func withTimeout(c config.MCP, d time.Duration) config.MCP {
	c.Timeout = config.Duration(d)
	return c
}

// A server that is silent in a phase fails after its timeout, and holds nothing else up.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for name, c := range map[string]config.MCP{
		"initialize": local("silent"), "list": local("silent-list"), "http": serveHandler(t, http.HandlerFunc(hang)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := map[string]config.MCP{"one": withTimeout(c, short), "good": serveHTTP(t, newGoodServer())}
			w := newWorld(t, mcp.Options{}, servers)
			wantText(t, w.awaitStatus("one", mcp.Failed).Error, "did not answer within 300ms")
			w.connect("good")
			w.text("good_echo", `{}`)
		})
	}
}

func TestSilentCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("silent-call")})
	w.connect("one")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := w.callIn(ctx, "one_echo", `{}`); got.Error == nil || got.Error.Reason != session.ReasonAborted {
		t.Errorf("a call without an answer: %+v", got)
	}
}

// The server cannot start: the state says what its program said, and it is not started again and again.
func TestServerThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{
		"one": local("exit"), "none": {Type: "local", Command: []string{"/no/such/program"}}, "empty": {Type: "local"},
		"odd": {Type: "remote", URL: "ftp://example.com"}, "down": {Type: "remote", URL: "http://127.0.0.1:1/mcp"},
	})
	for name, want := range map[string]string{
		"one": "its program ended with exit code 3; it said: no licence was found", "none": "/no/such/program cannot be run",
		"empty": "has no command", "odd": "is not one of http or https", "down": "connection refused",
	} {
		wantText(t, w.awaitStatus(name, mcp.Failed).Error, want)
	}
}

func TestFloodOnTheOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("flood")})
	w.connect("one")
	if got := w.text("one_echo", `{}`); got != "after the flood" {
		t.Errorf("the call said %q", got)
	}
}

// An answer of 2 GB ends the connection at the limit of a message.
func TestHugeAnswer(t *testing.T) {
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("huge")})
	w.connect("one")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantText(t, w.failure("one_echo", `{}`), "a message of more than 33554432 bytes is too large: the limit is 32 MiB")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 512<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

func TestDeepAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("nested"), "two": local("nested-list")})
	w.awaitStatus("two", mcp.Failed)
	w.connect("one")
	w.failure("one_echo", `{}`)
}

// newListWorld returns a location with a server that offers a list of tools.
func newListWorld(t *testing.T, list string) *world {
	t.Helper()
	file := writeFile(t, t.TempDir(), "list", strings.ReplaceAll(list, "\n", ""))
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("lists", file)})
	w.connect("one")
	return w
}

func TestThousandToolsAndALongDescription(t *testing.T) {
	t.Parallel()
	var tools []string
	for i := range 1000 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%03d","inputSchema":{"type":"object"}}`, i))
	}
	w := newListWorld(t, `{"tools":[`+strings.Join(tools, ",")+`]}`)
	if got := len(w.names("one_")); got != 256 {
		t.Errorf("there are %d tools", got)
	}
	wantText(t, w.state("one").Error, "it has more than 256 tools; the others are left out")
	long := strings.Repeat("long ", 1<<18)
	w = newListWorld(t, `{"tools":[{"name":"a","description":"`+long+`","inputSchema":{"type":"object"}}]}`)
	got := w.registry.TakeSnapshot(nil).Definitions()[0].Description
	if len(got) > 17<<10 || !strings.HasSuffix(got, "…") {
		t.Errorf("the description has %d bytes", len(got))
	}
}

// What a server says of a schema is passed to models if it is an object; a call is checked as far as it can be.
func TestSchemasThatLie(t *testing.T) {
	t.Parallel()
	loop := `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},` +
		`"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	w := newListWorld(t, `{"tools":[
		{"name":"text","inputSchema":"object"},
		{"name":"list","inputSchema":[]},
		{"name":"none"},
		{"name":"","inputSchema":{"type":"object"}},
		{"name":"loop","inputSchema":`+loop+`},
		{"name":"unknown","inputSchema":{"type":"object","x-made-up":{"a":1},"properties":{"a":{"x-kind":"colour"}}}},
		{"name":"string","inputSchema":{"type":"string"}},
		{"name":"big","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 300<<10)+`"}},
		{"name":"good","inputSchema":{"type":"object"}}
	]}`)
	for _, name := range []string{"one_good", "one_loop", "one_unknown"} {
		if got := w.text(name, `{"a":1}`); got != "done" {
			t.Errorf("%s said %q", name, got)
		}
	}
	for _, d := range w.registry.TakeSnapshot(nil).Definitions() {
		if d.Name == "one_unknown" && !strings.Contains(string(d.Schema), "x-made-up") {
			t.Errorf("the schema is %s", d.Schema)
		}
	}
	wantText(t, w.state("one").Error, `the tool "text" is left out: its schema is not an object`, "its schema has 3")
}

// Messages that the protocol does not allow harm nothing.
func TestNoticesThatLie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("notices")})
	w.connect("one")
	if got := w.text("one_echo", `{}`); got != "done" {
		t.Errorf("the call said %q", got)
	}
}

// Members that are null harm nothing.
func TestNulls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("nulls")})
	w.connect("one")
	w.call("one_echo", `{}`)
	w.call("list_mcp_resource_templates", `{}`)
	w.call("read_mcp_resource", `{"server":"one","uri":"a:b"}`)
	for _, c := range w.set.Commands() {
		_, _ = w.set.ExpandCommand(t.Context(), c, nil)
	}
	if got := w.state("one").Status; got != mcp.Connected {
		t.Errorf("the server is %s", got)
	}
}

// A remote server may not send requests elsewhere, with or without their headers.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.URL.Path)
	}))
	t.Cleanup(other.Close)
	elsewhere := serveHandler(t, http.RedirectHandler(other.URL+"/latest/meta-data", http.StatusTemporaryRedirect))
	round := serveHandler(t, http.RedirectHandler("/again", http.StatusTemporaryRedirect))
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": elsewhere, "round": round})
	wantText(t, w.awaitStatus("one", mcp.Failed).Error, "it leads to "+other.URL+", another server")
	wantText(t, w.awaitStatus("round", mcp.Failed).Error, "redirects too often")
	if len(reached) > 0 {
		t.Errorf("the other server was asked for %v", reached)
	}
}

// An endless body ends at the limit of a message.
func TestHugeBody(t *testing.T) {
	for _, mime := range []string{"application/json", "text/event-stream"} {
		t.Run(mime, func(t *testing.T) {
			endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", mime)
				_, _ = io.WriteString(w, "data: {\"a\":\"")
				chunk := []byte(strings.Repeat("x", 1<<20))
				for range 40 { // the limit is 32 MiB
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHandler(t, endless)})
			w.awaitStatus("one", mcp.Failed)
			w.pool.Close()
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<30 {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
		})
	}
}

// Headers of the configuration go to the server, and a server that refuses them says what to do.
func TestHeadersOfARemoteServer(t *testing.T) {
	t.Parallel()
	s := handleStreamable(newGoodServer())
	c := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	}))
	with := c
	with.Headers = map[string]string{"X-Key": "k"}
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"with": with, "without": c})
	w.connect("with")
	w.text("with_echo", `{}`)
	wantText(t, w.awaitStatus("without", mcp.NeedsAuth).Error, "set its headers in the configuration")
}

// A server of the older SSE may not have requests, with their headers, sent to another server.
func TestEndpointOfAnotherServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.URL.Path)
	}))
	t.Cleanup(other.Close)
	c := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+other.URL+"/latest/meta-data\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": withTimeout(c, 10*time.Second)})
	w.awaitStatus("one", mcp.Failed)
	mu.Lock()
	defer mu.Unlock()
	if len(reached) > 0 {
		t.Errorf("the other server was asked for %v", reached)
	}
}

// Errors show no part of an address that may be a secret.
func TestErrorsHideSecretsOfAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{
		"down": {Type: "remote", URL: "http://user:secret1@127.0.0.1:1/mcp?key=secret2"},
		"odd":  {Type: "remote", URL: "ftp://user:secret1@127.0.0.1/mcp?key=secret2"},
	})
	for _, name := range []string{"down", "odd"} {
		got := w.awaitStatus(name, mcp.Failed).Error
		if strings.Contains(got, "secret") || !strings.Contains(got, "127.0.0.1") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A call that the server answered is not made again, whatever the answer.
func TestAnsweredCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	calls := t.TempDir() + "/calls"
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("closing", calls)})
	w.connect("one")
	wantText(t, w.failure("one_echo", `{}`), "server is closing")
	if got, _ := os.ReadFile(calls); string(got) != "." {
		t.Errorf("the server got %d calls", len(got))
	}
}

// A program that has ended is noticed although a process of its own holds its output open.
func TestEndedProgramWithAHeldOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("held")})
	w.connect("one")
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	if got := w.callIn(ctx, "one_echo", `{}`); got.Error == nil || ctx.Err() != nil {
		t.Errorf("the call: %+v", got)
	}
}

// A change that changes nothing is not announced.
func TestUnchangedListsAreNotAnnounced(t *testing.T) {
	t.Parallel()
	lists := t.TempDir() + "/lists"
	listed := make(chan struct{}, 100)
	pool := mcp.NewPool(mcp.Options{OnChange: func(_, _ string, isListed bool) {
		if isListed {
			listed <- struct{}{}
		}
	}})
	t.Cleanup(pool.Close)
	servers := map[string]config.MCP{"one": local("same-lists", lists)}
	set := pool.Open(mcp.Location{Directory: t.TempDir(), Servers: servers})
	set.AwaitAll(t.Context())
	// The second list is read before the answer to the call that comes after it.
	for range 2 {
		if _, _, err := set.Call(t.Context(), "one", "echo", nil); err != nil {
			t.Fatal(err)
		}
		for size := 0; size < 2; {
			text, _ := os.ReadFile(lists)
			size = len(text)
			runtime.Gosched()
		}
	}
	pool.Close()
	if len(listed) > 0 {
		t.Errorf("%d changes were announced", len(listed))
	}
}

// Prompts and resources with bad names are left out, and the state says so.
func TestBadNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("bad-names")})
	got := w.awaitStatus("one", mcp.Connected)
	if len(got.Prompts) != 1 || len(got.Resources) != 1 || len(got.Resources[0].MIME) > 1100 {
		t.Errorf("it offers %+v, %+v", got.Prompts, got.Resources)
	}
	wantText(t, got.Error, "prompt", "resource", "is left out: its name is too long or has control characters")
}
