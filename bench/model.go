//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// model is an instant language model with OpenAI's Chat protocol on a loopback port. The newest prompt contains its
// instructions: "@bench n=20 s=5 k=3 id=x;". Without them, and for requests without tools, it answers one word.
type model struct {
	server *http.Server
	url    string
	path   string // path in its read calls

	mu   sync.Mutex // guards seen
	seen map[string][]exchange
}

// exchange has the times at which a request began to arrive and at which the first and last byte of its response were
// written.
type exchange struct{ arrived, first, last time.Time }

// order is the instructions of a prompt.
type order struct {
	n     int           // deltas of the response
	size  int           // bytes of each
	every time.Duration // between two; 0 is at full speed
	stamp bool          // each delta is "number:nanoseconds;" instead
	calls int           // turns that call the read tool, before the answer
	tasks int           // calls of the task tool in one turn, before the answer
	think time.Duration // before each call, which is one of the bash tool that runs true; 0: calls are as calls says
	id    string        // key of the recorded exchanges
}

func (o order) String() string {
	s := fmt.Sprintf("@bench n=%d s=%d k=%d id=%s", o.n, o.size, o.calls, o.id)
	if o.tasks > 0 {
		s += fmt.Sprintf(" t=%d", o.tasks)
	}
	if o.every > 0 {
		s += fmt.Sprintf(" every=%d", o.every.Microseconds())
	}
	if o.think > 0 {
		s += fmt.Sprintf(" think=%d", o.think.Microseconds())
	}
	if o.stamp {
		s += " stamp=1"
	}
	return s + "; please"
}

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String() + "/v1", seen: map[string][]exchange{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.serveChat)
	mux.HandleFunc("GET /bare", m.serveBare)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(l) }() // ends with close
	return m, nil
}

func (m *model) close() error { return m.server.Close() }

// takeExchanges returns the exchanges of an order and removes them.
func (m *model) takeExchanges(id string) []exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	es := m.seen[id]
	delete(m.seen, id)
	return es
}

func (m *model) serveChat(w http.ResponseWriter, r *http.Request) {
	e := exchange{arrived: time.Now()}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o, rest := parse(body)
	w.Header().Set("Content-Type", "text/event-stream")
	a := &answer{w: w, rc: http.NewResponseController(w), gone: r.Context().Done()}
	if !bytes.Contains(body, []byte(`"tools":[`)) { // a request for a title, not a turn
		a.writeText(order{n: 1, size: 5})
		a.flush()
		return
	}
	e.first = time.Now()
	a.writeFrame(`{"role":"assistant","content":""}`, "null")
	switch step := bytes.Count(rest, []byte(`"role":"tool"`)); {
	case step < o.calls && o.think > 0:
		time.Sleep(o.think)
		a.writeToolCall("bash", fmt.Sprintf(`{"command":"true %d"}`, step), step)
	case step < o.calls:
		a.writeToolCall("read", fmt.Sprintf(`{"filePath":%q,"offset":%d,"limit":20}`, m.path, 1+step%40), step)
	case step < o.tasks:
		a.writeTasks(o.tasks)
	default:
		a.writeText(o)
	}
	a.flush()
	e.last = time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[o.id] = append(m.seen[o.id], e)
}

// parse returns the newest order of a request and the text after it.
func parse(body []byte) (order, []byte) {
	o := order{n: 1, size: 5}
	_, _, found := bytes.Cut(body, []byte("@bench "))
	if !found {
		return o, nil
	}
	rest := body[bytes.LastIndex(body, []byte("@bench "))+len("@bench "):]
	head, rest, _ := bytes.Cut(rest, []byte(";"))
	for f := range strings.FieldsSeq(string(head)) {
		key, value, _ := strings.Cut(f, "=")
		n, _ := strconv.Atoi(value) // other values are 0
		switch key {
		case "n":
			o.n = n
		case "s":
			o.size = n
		case "t":
			o.tasks = n
		case "k":
			o.calls = n
		case "every":
			o.every = time.Duration(n) * time.Microsecond
		case "think":
			o.think = time.Duration(n) * time.Microsecond
		case "stamp":
			o.stamp = n == 1
		case "id":
			o.id = value
		}
	}
	return o, rest
}

// answer is a response that is being streamed.
type answer struct {
	w    io.Writer
	rc   *http.ResponseController
	gone <-chan struct{}
	buf  []byte
}

const (
	frameHead = `data: {"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m",` +
		`"choices":[{"index":0,"delta":`
	fullSpeed = 16 << 10 // bytes per write at full speed
)

func (a *answer) writeFrame(delta, finish string) {
	a.buf = append(append(a.buf, frameHead...), delta...)
	a.buf = append(append(append(a.buf, `,"finish_reason":`...), finish...), "}]}\n\n"...)
}

func (a *answer) flush() {
	_, err := a.w.Write(a.buf)
	a.buf = a.buf[:0]
	if err == nil {
		_ = a.rc.Flush() // a disconnected client needs no error
	}
}

func (a *answer) writeText(o order) {
	start := time.Now()
	word := strings.Repeat("some words ", o.size/11+1)[:max(o.size, 1)]
	for i := range o.n {
		if o.every > 0 {
			if !a.waitUntil(start.Add(time.Duration(i) * o.every)) {
				return
			}
		}
		if o.stamp {
			word = strconv.Itoa(i) + ":" + strconv.FormatInt(time.Now().UnixNano(), 10) + ";"
		}
		a.writeFrame(`{"content":"`+word+`"}`, "null")
		if o.every > 0 || len(a.buf) > fullSpeed {
			a.flush()
		}
	}
	a.finish("stop")
}

// waitUntil waits for a time; false means that the reader has disconnected.
func (a *answer) waitUntil(t time.Time) bool {
	wait := time.NewTimer(time.Until(t))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-a.gone:
		return false
	}
}

// writeToolCall writes the call of a tool with args, a JSON object.
func (a *answer) writeToolCall(tool, args string, step int) {
	quoted, _ := jsontext.AppendQuote(nil, args) // valid UTF-8
	a.writeFrame(
		fmt.Sprintf(
			`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`,
			step,
			tool,
			quoted,
		),
		"null",
	)
	a.finish("tool_calls")
}

// writeTasks writes n calls of the task tool, whose prompts differ and have no order.
func (a *answer) writeTasks(n int) {
	for i := range n {
		args, _ := jsontext.AppendQuote(nil, // valid UTF-8
			fmt.Sprintf(`{"description":"bench","prompt":"work %d","subagent_type":"general"}`, i))
		a.writeFrame(
			fmt.Sprintf(
				`{"tool_calls":[{"index":%d,"id":"task_%d","type":"function","function":{"name":"task","arguments":%s}}]}`,
				i, i, args,
			),
			"null",
		)
	}
	a.finish("tool_calls")
}

func (a *answer) finish(reason string) {
	a.writeFrame("{}", strconv.Quote(reason))
	a.buf = append(
		a.buf,
		`data: {"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[],`+
			`"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n"...,
	)
}

// serveBare writes the same deltas with net/http alone, as the limit for streams.
func (m *model) serveBare(w http.ResponseWriter, r *http.Request) {
	o, _ := parse([]byte("@bench " + r.URL.Query().Get("order")))
	w.Header().Set("Content-Type", "text/event-stream")
	a := &answer{w: w, rc: http.NewResponseController(w), gone: r.Context().Done()}
	a.writeText(o)
	a.flush()
}
