//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/discovery"
	"github.com/cairn-dev/cairn/internal/session"
)

// measureACP measures the time from a prompt to the model's request for an editor, whose prompt is a line on the standard
// input of cairn acp, and for a client of the socket as cairn run is. The prompts take turns at one server.
func (b *bench) measureACP(ctx context.Context) error {
	h := b.newHome("acp")
	s, id, err := b.startWarmServerAt(ctx, h)
	if err != nil {
		return err
	}
	defer s.stop()
	socket := *s
	if socket.client, err = h.newSocketClient(s, b.work); err != nil {
		return err
	}
	e, err := b.openEditor(ctx, h)
	if err != nil {
		return err
	}
	defer e.close()
	quiet := b.settle(ctx)
	var overSocket, overACP, added []float64
	editorSession := session.ID("")
	for i := range b.scaleCount(300) {
		// Keep histories equally long, and warm.
		if i%50 == 0 {
			if id, err = s.begin(ctx); err == nil {
				_, err = b.runTurn(ctx, &socket, id, order{n: 1, size: 5})
			}
			if err == nil {
				if editorSession, err = e.begin(ctx, s, b.work); err == nil {
					_, err = e.runTurn(b, editorSession)
				}
			}
			if err != nil {
				return err
			}
		}
		t, err := b.runTurn(ctx, &socket, id, order{n: 1, size: 5})
		if err != nil {
			return err
		}
		toRequest, err := e.runTurn(b, editorSession)
		if err != nil {
			return err
		}
		overSocket, overACP = append(overSocket, toMillis(t.toRequest)), append(overACP, toMillis(toRequest))
		added = append(added, toMillis(toRequest-t.toRequest))
	}
	foreign := quiet.foreignSince()
	for _, r := range []row{
		{What: "prompt of an editor to provider request, p50", Figure: medianOf(overACP), Limit: medianOf(overSocket)},
		{What: "prompt of an editor to provider request, p99", Figure: quantileOf(overACP, 0.99), Limit: quantileOf(overSocket, 0.99)},
		{What: "the same: added to a prompt over the socket, p50", Figure: medianOf(added), Target: 1},
	} {
		r.ID, r.Unit, r.N, r.Foreign = "P35", "ms", len(overACP), foreign
		if r.Limit > 0 {
			r.Of = "prompt over the socket"
		}
		b.add(r)
	}
	return nil
}

// newSocketClient returns a client of the server's socket.
func (h *home) newSocketClient(s *server, work string) (*api.Client, error) {
	path := discovery.SocketPath(h.dataDir())
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16, DisableCompression: true}
	c := &api.Client{
		HTTP: &http.Client{Transport: transport}, Base: "http://localhost", Auth: api.Auth{Secret: s.secret}, Directory: work,
	}
	return c, conn.Close()
}

// editor is the client of a cairn acp, in version 1 of the protocol. It sends one request at a time.
type editor struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	last  int
}

// openEditor starts cairn acp and initializes the connection.
func (b *bench) openEditor(ctx context.Context, h *home) (*editor, error) {
	e := &editor{cmd: h.newCommand(ctx, b.binary, "acp")}
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.lines = bufio.NewReaderSize(out, 1<<20) // more than an answer has
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = e.ask("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	return e, err
}

func (e *editor) close() {
	_ = e.in.Close()
	_ = e.cmd.Wait() // it ends with its pipe
}

// ask sends a request and returns its result. What comes before that is read and dropped.
func (e *editor) ask(method string, params any) (jsontext.Value, error) {
	e.last++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.last, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := e.in.Write(append(raw, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := e.lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // an update: answers are shorter
			line = nil
			_, err = e.lines.ReadSlice('\n')
		}
		if err != nil {
			return nil, fmt.Errorf("cairn acp: %w", err)
		}
		var m struct {
			ID     int            `json:"id"`
			Method string         `json:"method"`
			Result jsontext.Value `json:"result"`
			Error  jsontext.Value `json:"error"`
		}
		if line == nil || json.Unmarshal(line, &m) != nil || m.Method != "" || m.ID != e.last {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("cairn acp: %s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}

// begin opens a session that has a title, so that no turn generates one.
func (e *editor) begin(ctx context.Context, s *server, work string) (session.ID, error) {
	id, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	_, err = e.ask("session/load", map[string]any{"sessionId": id, "cwd": work, "mcpServers": []string{}})
	return id, err
}

// runTurn sends a prompt and returns the time until the model had its request, when the work is over.
func (e *editor) runTurn(b *bench, id session.ID) (time.Duration, error) {
	o := order{n: 1, size: 5}
	o.id = fmt.Sprintf("%s-%d", id, time.Now().UnixNano())
	posted := time.Now()
	raw, err := e.ask("session/prompt", map[string]any{
		"sessionId": id, "prompt": []map[string]string{{"type": "text", "text": o.String()}},
	})
	if err != nil {
		return 0, err
	}
	exchanges := b.model.takeExchanges(o.id)
	if len(exchanges) != 1 || string(raw) != `{"stopReason":"end_turn"}` {
		return 0, fmt.Errorf("the model was asked %d times, and the answer is %s", len(exchanges), raw)
	}
	return exchanges[0].arrived.Sub(posted), nil
}
