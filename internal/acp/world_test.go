package acp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// TestMain lets the test program be its own supervisor of commands, as cairn is.
func TestMain(m *testing.M) {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		syscall.Exit(code) // the race detector would wait a second in os.Exit
	}
	os.Exit(m.Run())
}

// world is a whole cairn in this process, whose model plays a script. Its requests pass through before.
type world struct {
	t      *testing.T
	dir    string      // of the sessions
	api    *api.Client // without the hook
	hooked *api.Client // of the editors
	gates  map[string]chan struct{}

	mu     sync.Mutex // guards the rest
	before func(*http.Request) error
	lost   string   // the method and the path of a request whose answer gets lost, once
	seen   []string // methods and paths of the requests of editors
}

// newWorld opens a world in which the model answers with the turns, and prompts without a turn with "Done.".
func newWorld(t *testing.T, turns ...script.Turn) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{
		t: t, dir: filepath.Join(t.TempDir(), "work"),
		gates: map[string]chan struct{}{"g1": make(chan struct{}), "g2": make(chan struct{})},
	}
	w.write("notes.txt", "hello\n")
	if err := os.MkdirAll(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := []byte(`{"model": "cairn/script", "permission": {"edit": "ask"}}`)
	if err := os.WriteFile(filepath.Join(home, "config", "cairn.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	player := script.New(script.Script{Turns: append(turns, script.Turn{
		Repeat: true, Steps: []script.Step{{Text: script.Chunks{"Done."}}},
	})})
	player.Gates = w.gates
	model := &llm.EmbeddedModel{ID: "script", Name: "Script", Open: func() (llm.Model, int64, error) { return player, 100_000, nil }}
	env := map[string]string{
		"CAIRN_HOME": home, "HOME": home, "CAIRN_LOG": "error", "PATH": os.Getenv("PATH"), "CAIRN_DISABLE_KEYRING": "1",
		"CAIRN_DISABLE_MODELS_FETCH": "1", "CAIRN_DISABLE_DISCOVERY": "1",
	}
	c, err := host.Host{}.Open(t.Context(), client.Options{
		Dir: w.dir, Env: func(name string) string { return env[name] }, Version: "test",
		Program: client.Program{Models: []*llm.EmbeddedModel{model}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	hooked := *c.API
	hooked.HTTP = &http.Client{Transport: w}
	w.api, w.hooked = c.API, &hooked
	return w
}

func (w *world) write(name, text string) {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// RoundTrip implements http.RoundTripper: it calls the hook, whose error is that of the connection.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.Method + " " + r.URL.Path
	w.mu.Lock()
	before, isLost := w.before, w.lost == name
	w.seen = append(w.seen, name)
	if isLost {
		w.lost = ""
	}
	w.mu.Unlock()
	if before != nil {
		if err := before(r); err != nil {
			return nil, err
		}
	}
	resp, err := w.api.HTTP.Transport.RoundTrip(r)
	if err == nil && isLost {
		_ = resp.Body.Close()
		resp.StatusCode, resp.Body = http.StatusBadGateway, io.NopCloser(strings.NewReader("<html>"))
	}
	return resp, err
}

// loseAnswer lets a proxy answer the next such request in place of the server, which has it.
func (w *world) loseAnswer(request string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = request
}

// hook has f called before each request of the editors from now on.
func (w *world) hook(f func(*http.Request) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = f
}

// count returns how many requests of the editors were made.
func (w *world) count(request string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s == request {
			n++
		}
	}
	return n
}

// prompts returns the texts of the prompts in the session's conversation.
func (w *world) prompts(id string) (texts []string) {
	w.t.Helper()
	page, err := w.api.Messages(w.t.Context(), session.ID(id), api.MessageQuery{Oldest: true})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range page.Data {
		if u, ok := m.(*session.User); ok {
			texts = append(texts, u.Text)
		}
	}
	return texts
}

// editor is a client of the protocol. Its methods are of one goroutine.
type editor struct {
	t     *testing.T
	world *world
	in    *io.PipeWriter
	lines chan message
	ended chan error
	said  []message // by the agent, so far
	last  int       // id of the newest request
}

// open starts an agent for an editor of the version.
func (w *world) open(version int) *editor {
	w.t.Helper()
	e := w.openWithout()
	e.ask("initialize", fmt.Sprintf(`{"protocolVersion":%d}`, version))
	return e
}

// openWithout starts an agent for an editor that has not said anything yet.
func (w *world) openWithout() *editor {
	in, write := io.Pipe()
	read, out := io.Pipe()
	e := &editor{t: w.t, world: w, in: write, lines: make(chan message, 10_000), ended: make(chan error, 1)}
	go func() {
		e.ended <- Serve(w.t.Context(), in, out, Options{Client: w.hooked})
		_ = out.Close()
		_ = in.Close()
	}()
	go func() {
		defer close(e.lines)
		s := bufio.NewScanner(read)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			var m message
			if err := json.Unmarshal(s.Bytes(), &m); err != nil {
				w.t.Error(err)
			}
			e.lines <- m
		}
	}()
	w.t.Cleanup(func() {
		_ = write.Close()
		if err := <-e.ended; err != nil {
			w.t.Error(err)
		}
	})
	return e
}

// write sends a line.
func (e *editor) write(format string, args ...any) {
	if _, err := fmt.Fprintf(e.in, format+"\n", args...); err != nil {
		e.t.Error(err)
	}
}

// tell sends a notification.
func (e *editor) tell(method, params string) {
	e.write(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

// send sends a request and returns its id.
func (e *editor) send(method, params string) int {
	e.last++
	e.write(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.last, method, params)
	return e.last
}

// await returns the first message that fits, and reads on until there is one.
func (e *editor) await(what string, fits func(message) bool) message {
	e.t.Helper()
	if i := slices.IndexFunc(e.said, fits); i >= 0 {
		return e.said[i]
	}
	late := time.After(awaitTimeout)
	for {
		select {
		case m, ok := <-e.lines:
			if !ok {
				e.t.Fatalf("the agent has ended without %s; it said\n%s", what, e.describe())
			}
			if e.said = append(e.said, m); fits(m) {
				return m
			}
		case <-late:
			e.t.Fatalf("the agent does not send %s; it said\n%s", what, e.describe())
		}
	}
}

// awaitTimeout is when a test that waits for the agent gives up.
const awaitTimeout = 20 * time.Second

// answer returns the answer to a request.
func (e *editor) answer(id int) message {
	e.t.Helper()
	return e.await(fmt.Sprint("an answer to ", id), func(m message) bool {
		return m.Method == "" && string(m.ID) == fmt.Sprint(id)
	})
}

// ask sends a request and returns its result. An error fails the test.
func (e *editor) ask(method, params string) string {
	e.t.Helper()
	m := e.answer(e.send(method, params))
	if m.Error != nil {
		e.t.Fatalf("%s %s: %v", method, params, m.Error)
	}
	return string(m.Result)
}

// refuse sends a request, which must fail with the code, and returns the message.
func (e *editor) refuse(code int, method, params string) string {
	e.t.Helper()
	m := e.answer(e.send(method, params))
	if m.Error == nil || m.Error.Code != code {
		e.t.Fatalf("%s %s: %s %v, want code %d", method, params, m.Result, m.Error, code)
	}
	return m.Error.Message
}

// session creates a session.
func (e *editor) session() string {
	e.t.Helper()
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(e.ask("session/new", e.world.params(""))), &r); err != nil {
		e.t.Fatal(err)
	}
	return r.SessionID
}

// params returns the parameters of requests with a directory, of a session unless id is "".
func (w *world) params(id string) string {
	member := ""
	if id != "" {
		member = fmt.Sprintf(`"sessionId":%q,`, id)
	}
	return fmt.Sprintf(`{%s"cwd":%q,"mcpServers":[]}`, member, w.dir)
}

// prompt returns the parameters of a prompt.
func prompt(id, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, text)
}

// awaitUpdate reads until there is an update of the session with the words.
func (e *editor) awaitUpdate(id string, words ...string) {
	e.t.Helper()
	e.await(fmt.Sprint("an update with ", words), func(m message) bool {
		return isUpdateOf(m, id) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(m.Params), w) })
	})
}

func isUpdateOf(m message, id string) bool {
	return m.Method == "session/update" && strings.Contains(string(m.Params), fmt.Sprintf(`"sessionId":%q`, id))
}

// updates returns the updates of the session since mark, a number of messages, in short words.
func (e *editor) updates(id string, mark int) (out []string) {
	for _, m := range e.said[mark:] {
		if isUpdateOf(m, id) {
			out = append(out, describeUpdateParams(m))
		}
	}
	return out
}

// describeUpdateParams returns the kind of an update, with its text or the id and the status of a call.
func describeUpdateParams(m message) string {
	var p struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Call    string `json:"toolCallId"`
			Title   string `json:"title"`
			Status  string `json:"status"`
			State   string `json:"state"`
			Stop    string `json:"stopReason"`
			Content any    `json:"content"`
		} `json:"update"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return err.Error()
	}
	u := p.Update
	text := ""
	if content, ok := u.Content.(map[string]any); ok {
		text, _ = content["text"].(string)
	}
	words := []string{u.Kind}
	for _, w := range []string{u.Call, u.Status, u.State, u.Stop, text} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// describe returns all that the agent said.
func (e *editor) describe() string {
	var out []string
	for _, m := range e.said {
		raw, err := encode(m)
		if err != nil {
			e.t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return strings.Join(out, "\n")
}

// say is a turn with a text.
func say(match string, chunks ...string) script.Turn {
	return script.Turn{Match: match, Steps: []script.Step{{Text: chunks}}}
}

// held is a turn that says "One", and after the gate g1 " two".
func held(match string) script.Turn {
	return script.Turn{Match: match, Steps: []script.Step{
		{Text: script.Chunks{"One"}, Open: true}, {Gate: "g1"}, {Text: script.Chunks{" two"}},
	}}
}
