package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// A member of a list that cannot be decoded leaves out only itself, and is named.
func TestBadMembersLeaveOutOnlyThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("bad-members")})
	w.connect("one")
	got := w.state("one")
	if diff := cmp.Diff([]string{"one_echo"}, w.names("one_")); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
	if len(got.Prompts) != 1 || len(got.Resources) != 1 {
		t.Errorf("it offers %+v, %+v", got.Prompts, got.Resources)
	}
	wantText(t, got.Error, `the tool "odd" is left out: `, `the prompt "q" is left out: `,
		`the resource "c:d" is left out: `)
	found, problems := w.set.Templates(t.Context(), "one")
	if len(found) != 1 || len(problems) != 1 {
		t.Errorf("the templates %+v, %v", found, problems)
	}
}

// A part of a result that cannot be decoded is left out alone.
func TestBadContentLeavesOutOnlyItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("bad-content")})
	w.connect("one")
	wantText(t, w.text("one_echo", `{}`), "before", `a part of the result of type "image" is left out: `,
		`a part of the result of type "hologram" is left out: `, "after")
	text, err := w.set.ExpandCommand(t.Context(), mcp.Command{Server: "one", Prompt: "p"}, nil)
	if err != nil {
		t.Error(err)
	}
	wantText(t, text, "a part of the prompt is left out", "hi")
	out, err := w.set.ReadResource(t.Context(), "one", "a:b")
	if err != nil {
		t.Error(err)
	}
	wantText(t, joinContent(out.Content), "a part of the resource is left out", "readable")
}

// A line that is no message is left out, and an answer that cannot be read fails its call; the connection stays.
func TestBadMessagesKeepTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{
		"odd": local("odd-lines"), "broken": local("broken-once"), "ending": local("no-line"),
	})
	for _, name := range []string{"odd", "broken", "ending"} {
		w.connect(name)
	}
	for range 2 {
		wantText(t, w.failure("broken_echo", `{}`), "the answer is invalid: ")
	}
	for _, name := range []string{"odd_echo", "broken_echo", "ending_echo"} {
		if got := w.text(name, `{}`); got != "done" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What is said of a server that is gone, or too old, names the reason.
func TestReasonsOfDeadServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("exit-call"), "old": local("version")})
	wantText(t, w.awaitStatus("old", mcp.Failed).Error, `unsupported protocol version: "1999-01-01"`)
	w.connect("one")
	wantText(t, w.failure("one_echo", `{}`),
		"The MCP server one failed: its program ended with exit code 3; it said: no disk")
}

// A server that does not answer any more after a call was ended is started again. A call that was sent to it meanwhile
// fails because it hangs, not because of the signal that ends it.
func TestHangingServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := withTimeout(local("hang-once", t.TempDir()+"/called"), 3*time.Second)
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": c})
	w.connect("one")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.callIn(ctx, "one_echo", `{}`) }()
	for !exists(c.Command[3]) {
		runtime.Gosched()
	}
	cancel()
	<-ended
	wantText(t, w.failure("one_echo", `{}`), "The MCP server one failed: it hangs: after a call without an answer")
	wantText(t, w.awaitStatus("one", mcp.Failed).Error,
		"it hangs: after a call without an answer it did not answer a ping")
	if got := w.text("one_echo", `{}`); got != "again" {
		t.Errorf("the next call said %q", got)
	}
}

// rawHTTP serves a rawServer over streamable HTTP, except for calls of tools.
func rawHTTP(call func(w http.ResponseWriter, id string)) http.Handler {
	s := newRawServer()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m rawMessage
		switch {
		case r.Method != http.MethodPost:
			http.Error(w, "no", http.StatusMethodNotAllowed)
		case json.Unmarshal(body, &m) != nil || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			call(w, string(m.ID))
		case s[m.Method] == nil:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, s[m.Method](m.Params))
		}
	})
}

// Bad answers over HTTP fail their call with a reason, and the connection stays.
func TestBadAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	good := `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`
	for name, test := range map[string]struct {
		mime string
		send func(w io.Writer, id string)
		want string
	}{
		"too large": {"application/json", func(w io.Writer, _ string) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":"`+strings.Repeat("x", 33<<20)+`"}`)
		}, "a message of more than 33554432 bytes is too large: the limit is 32 MiB"},
		"too large an event": {"text/event-stream", func(w io.Writer, _ string) {
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 33<<20)+"\n\n")
		}, "a message of more than 33554432 bytes is too large: the limit is 32 MiB"},
		"only comments": {"text/event-stream", func(w io.Writer, _ string) {
			for range 10 << 20 {
				if _, err := io.WriteString(w, strings.Repeat(": ping\n\n", 1000)); err != nil {
					return
				}
			}
		}, "the server sent 4 MiB of comments instead of an answer"},
		"no JSON": {
			"application/json", func(w io.Writer, _ string) { _, _ = io.WriteString(w, "<html>") },
			"the answer is not a message of the protocol",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isBad := true
			c := serveHandler(t, rawHTTP(func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", test.mime)
				if isBad {
					isBad = false
					test.send(w, id)
					return
				}
				if test.mime == "text/event-stream" {
					_, _ = fmt.Fprintf(w, ": ping\n\ndata: {\"a\":1}\n\nodd\nid: 1\ndata: "+good+"\n\n", id)
					return
				}
				_, _ = fmt.Fprintf(w, good, id)
			}))
			w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": c})
			w.connect("one")
			wantText(t, w.failure("one_echo", `{}`), test.want)
			if got := w.text("one_echo", `{}`); got != "done" {
				t.Errorf("the next call said %q", got)
			}
		})
	}
}

// A question that a call of a person cannot ask is declined, and the result says so.
func TestDeclinedQuestionOfAPersonsCall(t *testing.T) {
	t.Parallel()
	w := elicitWorld(t, &sdk.ElicitParams{Message: "Which table?"})
	out, _, err := w.set.Call(t.Context(), "one", "ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, joinContent(out.Content), "decline", "The server asked a question, which was declined because this call "+
		"cannot ask it: Which table?")
}
