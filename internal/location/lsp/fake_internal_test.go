package lsp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fakeServer speaks LSP as a script says. Its framing is independent of stream.
type fakeServer struct {
	in           *bufio.Reader
	out          io.Writer
	capabilities string                                               // JSON; "" is a server that publishes
	handle       func(f *fakeServer, m message) (answer any, ok bool) // ok: answer is the result of a request
	writing      chan struct{}                                        // held by a write
	ready        chan struct{}                                        // closed when it may answer initialize; nil: at once
	silent       bool                                                 // it never answers initialize

	mu       sync.Mutex // guards all below and handle
	received []message
	asked    int
}

// message is a JSON-RPC message.
type message struct {
	ID     jsontext.Value `json:"id,omitzero"`
	Method string         `json:"method,omitzero"`
	Params jsontext.Value `json:"params,omitzero"`
	Result jsontext.Value `json:"result,omitzero"`
	Error  jsontext.Value `json:"error,omitzero"`
}

// file returns the name of the document that the message is about.
func (m message) file() string {
	var in struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	_ = json.Unmarshal(m.Params, &in)
	return filepath.Base(in.TextDocument.URI)
}

// uri returns the URI of that document.
func (m message) uri() string {
	var in struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	_ = json.Unmarshal(m.Params, &in)
	return in.TextDocument.URI
}

// text returns the whole text of the document that the message sends.
func (m message) text() string {
	var in struct {
		TextDocument struct {
			Text string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
	}
	_ = json.Unmarshal(m.Params, &in)
	if len(in.ContentChanges) > 0 {
		return in.ContentChanges[0].Text
	}
	return in.TextDocument.Text
}

// run serves until the input ends or the client says exit.
func (f *fakeServer) run() {
	for {
		m, err := readFake(f.in)
		if err != nil || m.Method == "exit" {
			return
		}
		f.mu.Lock()
		f.received = append(f.received, m)
		f.mu.Unlock()
		switch {
		case m.Method == "initialize" && !f.silent:
			if f.ready != nil {
				<-f.ready
			}
			capabilities := f.capabilities
			if capabilities == "" {
				capabilities = `{"textDocumentSync":2}`
			}
			f.send(message{ID: m.ID, Result: jsontext.Value(`{"capabilities":` + capabilities + `}`)})
		case m.Method == "shutdown":
			f.send(message{ID: m.ID, Result: jsontext.Value("null")})
		case m.Method != "initialize":
			f.mu.Lock()
			handle := f.handle
			f.mu.Unlock()
			if handle == nil {
				continue
			}
			if answer, ok := handle(f, m); ok && m.ID != nil {
				f.send(message{ID: m.ID, Result: encode(answer)})
			}
		}
	}
}

// follow changes the script.
func (f *fakeServer) follow(handle func(f *fakeServer, m message) (answer any, ok bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle = handle
}

func readFake(in *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(value)
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

// send writes a message.
func (f *fakeServer) send(m message) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message `json:",inline"`
	}{"2.0", m})
	if err != nil {
		panic(err)
	}
	f.write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (f *fakeServer) write(text string) {
	f.writing <- struct{}{} // no mutex: the time of a bubble goes on while one waits
	defer func() { <-f.writing }()
	_, _ = io.WriteString(f.out, text)
}

// publish sends errors of a file, one a line.
func (f *fakeServer) publish(uri string, errors ...string) { f.publishVersion(uri, nil, errors...) }

// publishVersion says for which version of the document the errors are.
func (f *fakeServer) publishVersion(uri string, version any, errors ...string) {
	list := []object{}
	for i, text := range errors {
		at := Position{i, 0}
		list = append(list, object{"range": Range{at, at}, "severity": 1, "message": text})
	}
	f.send(message{Method: "textDocument/publishDiagnostics", Params: encode(object{
		"uri": uri, "version": version, "diagnostics": list,
	})})
}

// ask sends a request to the client; its answer is among the received messages.
func (f *fakeServer) ask(method string, params any) {
	f.mu.Lock()
	f.asked++
	id := fmt.Sprintf(`"ask-%d"`, f.asked)
	f.mu.Unlock()
	f.send(message{ID: jsontext.Value(id), Method: method, Params: encode(params)})
}

// list returns what was received as lines: the method, the file and what select says.
func (f *fakeServer) list() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.received {
		line := m.Method
		if name := m.file(); name != "." {
			line += " " + name
		}
		out = append(out, line)
	}
	return out
}

// find returns the received messages of a method.
func (f *fakeServer) find(method string) (out []message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.received {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// publishErrors is a handler that publishes the lines of a document that begin with ERROR, and with a line "breaks
// NAME" an error in that file.
func publishErrors(f *fakeServer, m message) (any, bool) {
	if m.Method != "textDocument/didOpen" && m.Method != "textDocument/didChange" {
		return nil, false
	}
	var errors []string
	for line := range strings.Lines(m.text()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "ERROR") {
			errors = append(errors, line)
		}
		if name, ok := strings.CutPrefix(line, "breaks "); ok {
			f.publish(m.uri()[:strings.LastIndexByte(m.uri(), '/')+1]+name, "broken by "+m.file())
		}
	}
	f.publish(m.uri(), errors...)
	return nil, false
}

// world is a project whose language server for .x files is a fakeServer in this process.
type world struct {
	*testing.T
	dir       string
	manager   *Manager
	configure func(f *fakeServer) // before it runs; nil: publishErrors
	memory    atomic.Int64        // that each server uses

	mu      sync.Mutex // guards all below
	servers []*fakeServer
	changes int
}

// newWorld makes the project's directory, which must happen outside of a synctest bubble.
func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, dir: dir}
}

// start makes the manager. The test closes it.
func (w *world) start(change func(o *Options)) *Manager {
	o := Options{
		Directory: w.dir, Servers: []Server{{ID: "fake", Extensions: []string{".x"}, Programs: start(os.Args[0])}},
		OnChange: func() { w.mu.Lock(); defer w.mu.Unlock(); w.changes++ },
	}
	if change != nil {
		change(&o)
	}
	w.manager = New(o)
	w.manager.start = func(launch) (*endpoint, error) {
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		f := &fakeServer{in: bufio.NewReader(fromClient), out: toClient, handle: publishErrors, writing: make(chan struct{}, 1)}
		if w.configure != nil {
			w.configure(f)
		}
		w.mu.Lock()
		w.servers = append(w.servers, f)
		w.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.run()
			_, _ = toClient.Close(), fromClient.Close()
		}()
		return &endpoint{
			in: in, out: out, done: done, readErrors: func() string { return "first\nlast words" },
			memory: w.memory.Load,
			close:  func() { _, _ = in.Close(), out.Close() },
		}, nil
	}
	return w.manager
}

func start(argv ...string) []Program { return []Program{{Argv: argv}} }

// server returns the server that was started last.
func (w *world) server() *fakeServer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.servers) == 0 {
		w.Fatal("no server was started")
	}
	return w.servers[len(w.servers)-1]
}

// count returns how many servers were started.
func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.servers)
}

// write writes a file with a modification time of its own, and returns its path.
func (w *world) write(name, content string) string {
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		w.Fatal(err)
	}
	return path
}

// diagnose changes a file and returns the text of the report and how long it took.
func (w *world) diagnose(name, content string) (text string, took time.Duration) {
	path := w.write(name, content)
	began := time.Now()
	r := w.manager.Diagnose(w.Context(), []string{path}, DefaultBound)
	text = strings.ReplaceAll(r.Format(nil), w.dir+string(filepath.Separator), "")
	return strings.TrimSpace(text), time.Since(began)
}

// isSubsequence reports whether the lines of part are in all, in this order.
func isSubsequence(part, all []string) bool {
	for _, line := range part {
		i := slices.Index(all, line)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}
