package acp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// peer is the other end of a connection.
type peer struct {
	t     *testing.T
	conn  *conn
	in    *io.PipeWriter
	lines chan string // what the connection writes
	ended chan error
}

func newPeer(t *testing.T, handle handler) *peer {
	in, write := io.Pipe()
	read, out := io.Pipe()
	p := &peer{t: t, conn: newConn(out), in: write, lines: make(chan string, 1000), ended: make(chan error, 1)}
	go func() {
		p.ended <- p.conn.serve(t.Context(), in, handle)
		_ = out.Close()
		_ = in.Close()
	}()
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(read); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

func (p *peer) write(lines ...string) {
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Error(err)
		}
	}
}

// end closes the pipe and returns what was written since the last line that was read.
func (p *peer) end() (rest []string, err error) {
	_ = p.in.Close()
	err = <-p.ended
	for l := range p.lines {
		rest = append(rest, l)
	}
	return rest, err
}

func TestParseMessage(t *testing.T) {
	for _, tt := range []struct {
		line, id string
		code     int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"x"}`, "1", 0},
		{`{"id":"a","method":"x","id":"b"}`, `"b"`, 0},
		{`{"method":"x","unknown":[1]}`, "", 0},
		{`{"id":null,"method":"x"}`, "null", 0},
		{"{\"id\":1,\"method\":\"\xff\"}", "1", 0},
		{`{`, "", codeParse},
		{`{"id":1}{}`, "", codeParse},
		{``, "", codeParse},
		{`[]`, "", codeInvalidRequest},
		{`7`, "", codeInvalidRequest},
		{`{"id":{},"method":"x"}`, "", codeInvalidRequest},
		{`{"id":true,"method":"x"}`, "", codeInvalidRequest},
		{`{"id":3,"method":7}`, "3", codeInvalidRequest},
		{`{"id":[],"method":7}`, "", codeInvalidRequest},
		{`{"id":3,"error":"x"}`, "3", codeInvalidRequest},
	} {
		m, err := parseMessage([]byte(tt.line))
		code := 0
		if err != nil {
			code = err.Code
		}
		if string(m.ID) != tt.id || code != tt.code {
			t.Errorf("%s: id %q, code %d; want %q, %d", tt.line, m.ID, code, tt.id, tt.code)
		}
	}
}

// Messages are taken in their order, while each request is answered in a goroutine of its own.
func TestConnTakesMessagesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken []string
		release := make(chan struct{})
		take := func(method string, _ jsontext.Value) { taken = append(taken, method) } // of one goroutine, which -race checks
		p := newPeer(t, handler{notify: take, begin: func(method string, params jsontext.Value) answerer {
			take(method, params)
			if method == "slow" {
				return func(context.Context) (any, error) { <-release; return "slow", nil }
			}
			return returnResult(method, nil)
		}})
		p.write(`{"id":1,"method":"slow"}`, `{"method":"note"}`, `{"id":2,"method":"quick"}`)
		if got := <-p.lines; got != `{"jsonrpc":"2.0","id":2,"result":"quick"}` {
			t.Error(got)
		}
		close(release)
		rest, err := p.end()
		if err != nil || len(rest) != 1 || fmt.Sprint(taken) != "[slow note quick]" {
			t.Error(rest, err, taken)
		}
	})
}

func TestConnAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, handler{begin: func(method string, _ jsontext.Value) answerer {
			switch method {
			case "wait":
				return func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, context.Cause(ctx) }
			case "refuse":
				return returnResult(nil, rpcErrorf(codeInvalidParams, "no"))
			case "fail":
				return returnResult(nil, errors.New("broken"))
			case "wrong":
				return returnResult(make(chan int), nil)
			}
			return nil
		}})
		for _, tt := range []struct{ write, want string }{
			{`{"id":1,"method":"nope"}`, `"code":-32601`},
			{`{"id":2,"method":"refuse"}`, `"code":-32602,"message":"no"`},
			{`{"id":3,"method":"fail"}`, `"code":-32603,"message":"broken"`},
			{`{"id":4,"method":"wrong"}`, `"code":-32603`},
			{`{"id":5}`, `"id":5,"error":{"code":-32600`},
			{`{}`, `"id":null,"error":{"code":-32600`},
			{strings.Repeat(" ", maxMessage+1), `"id":null,"error":{"code":-32600`},
			{`{"id":6,"method":"wait"}` + "\n" + `{"id":6,"method":"wait"}`, `"id":6,"error":{"code":-32600`},
			{`{"id":8,"method":"$/cancel_request","params":{}}`, `"id":8,"result":null`},
			{`{"method":"$/cancel_request","params":{"requestId":6}}`, `"id":6,"error":{"code":-32800`},
		} {
			p.write(tt.write)
			if got := <-p.lines; !strings.Contains(got, tt.want) {
				t.Errorf("%.80s: got %s, want %s", tt.write, got, tt.want)
			}
		}
		p.write(`{"method":"$/cancel_request","params":{"requestId":"nope"}}`, `{"method":"$/cancel_request"}`, `{"id":9,"result":1}`)
		p.write(`{"id":7,"method":"wait"}`)
		if rest, err := p.end(); err != nil || len(rest) != 1 || !strings.Contains(rest[0], "closed the connection") {
			t.Error(rest, err)
		}
	})
}

func TestConnBoundsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, handler{begin: func(string, jsontext.Value) answerer {
			return func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, context.Cause(ctx) }
		}})
		for i := range maxRequests + 1 {
			p.write(fmt.Sprintf(`{"id":%d,"method":"x"}`, i))
		}
		if got := <-p.lines; !strings.Contains(got, fmt.Sprintf(`"id":%d,"error":{"code":-32603`, maxRequests)) {
			t.Error(got)
		}
		if rest, err := p.end(); len(rest) != maxRequests || err != nil {
			t.Error(len(rest), err)
		}
	})
}

// Calls of the client are answered in any order, and one that is not needed any more is taken back.
func TestConnCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, handler{})
		var calls sync.WaitGroup
		results := make([]int, 20)
		for i := range results {
			calls.Go(func() {
				if err := p.conn.call(t.Context(), "tenfold", i+1, &results[i]); err != nil {
					t.Error(err)
				}
			})
		}
		for range results {
			var m message
			if err := json.Unmarshal([]byte(<-p.lines), &m); err != nil {
				t.Fatal(err)
			}
			p.write(fmt.Sprintf(`{"id":%s,"result":%s0}`, m.ID, m.Params), fmt.Sprintf(`{"id":%s,"result":7}`, m.ID))
		}
		calls.Wait()
		for i, got := range results {
			if got != (i+1)*10 {
				t.Errorf("call %d got %d", i, got)
			}
		}
		// An error, an end, and the end of the connection.
		calls.Go(func() {
			err := p.conn.call(t.Context(), "refused", 1, new(int))
			if e, ok := errors.AsType[*rpcError](err); !ok || e.Code != 5 {
				t.Error(err)
			}
		})
		var m message
		_ = json.Unmarshal([]byte(<-p.lines), &m)
		p.write(fmt.Sprintf(`{"id":%s,"error":{"code":5,"message":"no"}}`, m.ID))
		calls.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.conn.call(ctx, "slow", 1, new(int)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		_ = json.Unmarshal([]byte(<-p.lines), &m)
		if got := <-p.lines; got != fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, m.ID) {
			t.Error(got)
		}
		calls.Go(func() {
			if err := p.conn.call(t.Context(), "last", 1, new(int)); !errors.Is(err, errClosed) {
				t.Error(err)
			}
		})
		<-p.lines
		_, _ = p.end()
		calls.Wait()
		if err := p.conn.call(t.Context(), "late", 1, new(int)); !errors.Is(err, errClosed) {
			t.Error(err)
		}
	})
}

// A client that does not read ends the connection, and its messages are taken until then.
func TestConnOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, write := io.Pipe()
		_, out := io.Pipe()
		taken := 0
		c := newConn(out)
		ended := make(chan error, 1)
		go func() {
			ended <- c.serve(t.Context(), in, handler{notify: func(string, jsontext.Value) { taken++ }})
			_ = in.Close()
			_ = out.Close()
		}()
		go func() {
			for range 4 {
				c.notify("x", strings.Repeat("y", maxUnread/2))
			}
		}()
		synctest.Wait()
		for range 100 {
			_, _ = io.WriteString(write, "{\n"+`{"method":"note"}`+"\n")
		}
		synctest.Wait()
		if taken != 100 {
			t.Errorf("%d messages were taken", taken)
		}
		if err := <-ended; !errors.Is(err, errStalled) {
			t.Error(err)
		}
	})
}
