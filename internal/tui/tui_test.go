package tui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui"
)

// paper is a screen that writes down what is on it.
type paper struct{ log []string }

func (p *paper) put(kind, text string) { p.log = append(p.log, kind+" "+text) }
func (p *paper) Said(text string)      { p.put("said", text) }
func (p *paper) SaidAll()              { p.put("end", "") }
func (p *paper) Told(text string)      { p.put("told", text) }
func (p *paper) Line(text string)      { p.put("line", text) }
func (p *paper) Note(text string)      { p.put("note", text) }
func (p *paper) Asked(a session.PendingAsk) {
	p.put("asked", a.Action+" "+strings.Join(a.Resources, ","))
}
func (p *paper) Questioned(q session.Question) { p.put("question", q.Question) }
func (p *paper) Ready(bool)                    {}
func (p *paper) Typed()                        {}
func (p *paper) Called(c tui.Call) {
	p.put("call", strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Tool, c.Input, c.Failed)))
}

// stage is a server that is told what to say. Requests are written down.
type stage struct {
	mu       sync.Mutex // guards all below
	requests []string
	looks    int               // at what sessions are at
	streams  []string          // the Last-Event-ID of each
	answers  map[string]string // by method and path; else an empty list
	out      chan string       // frames; "" ends the stream
}

func newStage() *stage {
	return &stage{answers: map[string]string{
		"POST /session": `{"id":"ses_1","directory":"/w","title":"New"}`, "GET /session/status": `{}`,
		"GET /session/ses_1":    `{"id":"ses_1","directory":"/w","title":"Kept"}`,
		"GET /config/providers": `{"providers":[{"id":"mock","models":{"main":{},"a/b":{}}}]}`,
	}, out: make(chan string)}
}

func (s *stage) client() *peer.Client {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/event" {
			s.stream(w, r)
			return
		}
		b, _ := io.ReadAll(r.Body)
		key := r.Method + " " + r.URL.Path
		s.mu.Lock()
		defer s.mu.Unlock()
		if key == "GET /session/status" {
			s.looks++
		}
		if r.Method == http.MethodPost {
			s.requests = append(s.requests, strings.TrimSpace(key+" "+string(b)))
		}
		switch answer, ok := s.answers[key]; {
		case strings.HasPrefix(answer, "!"):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"name":"BadRequest","data":{"message":%q}}`, answer[1:])
		case ok:
			fmt.Fprint(w, answer)
		case strings.HasSuffix(r.URL.Path, "/prompt_async"):
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodGet:
			fmt.Fprint(w, "[]")
		default:
			fmt.Fprint(w, "true")
		}
	})
	return &peer.Client{HTTP: &http.Client{Transport: api.Local(h)}, Base: "http://peer"}
}

func (s *stage) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.streams = append(s.streams, r.Header.Get("Last-Event-ID"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case f := <-s.out:
			if f == "" {
				return
			}
			fmt.Fprint(w, f)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *stage) answer(key, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[key] = what
}

func (s *stage) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// table is a talk at which somebody sits, in a bubble: every step waits until nothing moves any more.
type table struct {
	*stage
	paper      paper
	keys       *io.PipeWriter
	interrupts chan struct{}
	outcome    tui.Outcome
	err        error
	over       chan struct{}
}

func sit(t *testing.T, s *stage, change func(*tui.Config)) *table {
	in, keys := io.Pipe()
	b := &table{stage: s, keys: keys, interrupts: make(chan struct{}), over: make(chan struct{})}
	c := tui.Config{
		Client: s.client(), Screen: &b.paper, Input: in, Interrupts: b.interrupts, Person: true, Begin: tui.Begin{History: -1},
	}
	if change != nil {
		change(&c)
	}
	go func() { // ends with the talk
		defer close(b.over)
		b.outcome, b.err = tui.Run(t.Context(), c)
		_ = in.Close()
	}()
	synctest.Wait()
	return b
}

func (b *table) types(lines ...string) {
	for _, l := range lines {
		_, _ = io.WriteString(b.keys, l+"\n") // the talk may be over
		synctest.Wait()
	}
}

// tells has the server tell events.
func (b *table) tells(frames ...string) {
	for _, f := range frames {
		b.out <- "data: " + strings.ReplaceAll(f, "\n", " ") + "\n\n"
		synctest.Wait()
	}
}

func (b *table) presses() {
	b.interrupts <- struct{}{}
	synctest.Wait()
}

func (b *table) shows(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, b.paper.log); diff != "" {
		t.Errorf("-want +on the screen\n%s", diff)
	}
	b.paper.log = nil
}

func (b *table) sent(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, b.took()); diff != "" {
		t.Errorf("-want +sent\n%s", diff)
	}
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
}

func (b *table) leaves(t *testing.T, want error) {
	t.Helper()
	_ = b.keys.Close()
	<-b.over
	if !errors.Is(b.err, want) {
		t.Errorf("it ended with %v", b.err)
	}
}

func message(id, role string) string {
	return fmt.Sprintf(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":%q,"sessionID":"ses_1","role":%q}}}`, id, role)
}

func part(id, of, more string) string {
	return fmt.Sprintf(`{"type":"message.part.updated","properties":{"sessionID":"ses_1","part":{"id":%q,"sessionID":"ses_1","messageID":%q,%s}}}`, id, of, more)
}

func delta(id, text string) string {
	return fmt.Sprintf(`{"type":"message.part.delta","properties":{"sessionID":"ses_1","messageID":"msg_2","partID":%q,"field":"text","delta":%q}}`, id, text)
}

func status(kind string) string {
	return fmt.Sprintf(`{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":%q}}}`, kind)
}

const prompted = `POST /session/ses_1/prompt_async {"parts":[{"type":"text","text":"hello"}]}`

// A prompt begins a session, and what comes of it is shown as it comes, once.
func TestPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), nil)
		b.types("hello")
		b.sent(t, "POST /session {}", prompted)
		b.tells(
			message("msg_1", "user"), part("prt_1", "msg_1", `"type":"text","text":"hello"`), status("busy"), message("msg_2", "assistant"),
			part("prt_r", "msg_2", `"type":"reasoning","text":""`), delta("prt_r", "Hm."),
			part("prt_2", "msg_2", `"type":"text","text":"","time":{"start":1}`), delta("prt_2", "Hel"), delta("prt_2", "lo"),
			part("prt_2", "msg_2", `"type":"text","text":"Hello.","time":{"start":1,"end":2}`), delta("prt_2", "late"),
			part("prt_3", "msg_2", `"type":"tool","tool":"bash","state":{"status":"pending","input":{}}`),
			part("prt_3", "msg_2", `"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"ls"}}`),
			part("prt_3", "msg_2", `"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"ls"},"metadata":{"output":"x"}}`),
			part("prt_3", "msg_2", `"type":"tool","tool":"bash","state":{"status":"error","input":{"command":"ls"},"error":"no"}`),
			`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Bad thing"}}}}`,
			`{"type":"session.error","properties":{"sessionID":"ses_2","error":{"name":"APIError","data":{"message":"Theirs"}}}}`,
			status("idle"),
			message("msg_3", "user"), part("prt_4", "msg_3", `"type":"text","text":"from elsewhere"`),
		)
		b.shows(t, "said Hel", "said lo", "said .", "end ", `call bash {"command":"ls"}`, `call bash {"command":"ls"} no`, "note Bad thing", "told from elsewhere")
		b.leaves(t, nil)
		if b.outcome.Session != "ses_1" || b.outcome.Failure != "Bad thing" || b.outcome.Working {
			t.Errorf("%+v", b.outcome)
		}
	})
}

// A second prompt is sent while the first is at work, and shown as one that waits.
func TestQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), nil)
		b.types("hello", "and then")
		b.sent(t, "POST /session {}", prompted, strings.Replace(prompted, "hello", "and then", 1))
		b.shows(t, "line queued: and then")
		b.leaves(t, nil)
		if !b.outcome.Working {
			t.Error("the work is not told of")
		}
	})
}

// Ctrl-C stops the work; twice leaves.
func TestInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), nil)
		b.types("hello")
		b.tells(status("busy"))
		b.presses()
		b.sent(t, "POST /session {}", prompted, "POST /session/ses_1/abort")
		b.tells(`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"MessageAbortedError","data":{"message":"x"}}}}`, status("idle"))
		b.shows(t, "note stopping; Ctrl-C again leaves", "note stopped")
		b.types("hello")
		b.presses() // a line was typed since
		b.presses()
		b.leaves(t, tui.ErrLeft)
	})
}

// Asks of the session and of those below it are answered by number, one after another, and not by what was typed before
// they were there.
func TestAsks(t *testing.T) {
	ask := func(id, of string) string {
		return fmt.Sprintf(`{"type":"permission.asked","properties":{"id":%q,"sessionID":%q,"permission":"bash","patterns":["ls"],"always":["ls *"]}}`, id, of)
	}
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), func(c *tui.Config) { c.Begin.Session = "ses_1" })
		b.paper.log = nil
		b.tells(
			`{"type":"session.created","properties":{"sessionID":"ses_2","info":{"id":"ses_2","parentID":"ses_1"}}}`,
			ask("per_1", "ses_1"), ask("per_2", "ses_2"), ask("per_3", "ses_3"), ask("per_1", "ses_1"),
		)
		ways := "line 1: once, 2: always for bash ls *, 3: no, and stop, 3 REASON: no, and go on"
		b.shows(t, "asked bash ls", ways)
		b.types("yes", "2", "3 not today")
		b.shows(t, ways, "asked bash ls", ways)
		b.tells(`{"type":"permission.replied","properties":{"sessionID":"ses_1","requestID":"per_1","reply":"always"}}`)
		b.sent(t, `POST /permission/per_1/reply {"reply":"always"}`, `POST /permission/per_2/reply {"reply":"reject","message":"not today"}`)
		b.tells(ask("per_4", "ses_1"), `{"type":"permission.replied","properties":{"sessionID":"ses_1","requestID":"per_4"}}`)
		b.shows(t, "asked bash ls", ways, "line answered elsewhere")
		b.tells(
			`{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1","questions":[
			{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"How?","multiple":true,"options":[{"label":"A"},{"label":"B"}]}]}}`,
		)
		b.types("2", "1,2")
		b.shows(t, "question Which?", "question How?")
		b.sent(t, `POST /question/que_1/reply {"answers":[["Blue"],["A","B"]]}`)
		b.tells(`{"type":"question.asked","properties":{"id":"que_2","sessionID":"ses_1","questions":[{"question":"Sure?","options":[],"custom":false}]}}`)
		b.types("what", "!")
		b.shows(t, "question Sure?", `line "what" is not one of them`)
		b.sent(t, "POST /question/que_2/reject")
		b.leaves(t, nil)
	})
}

// A stream that breaks is taken up behind what was heard last, and what was missed is shown once.
func TestReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), func(c *tui.Config) { c.Begin.Session = "ses_1" })
		b.paper.log = nil
		b.tells(status("busy"), message("msg_2", "assistant"), part("prt_2", "msg_2", `"type":"text","text":""`))
		b.out <- "id: 41\ndata: " + delta("prt_2", "One") + "\n\n"
		synctest.Wait()
		b.answer("GET /session/ses_1/message", `[{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant"},"parts":[
			{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"text","text":"One two"}]}]`)
		b.answer("GET /session/status", `{"ses_1":{"type":"busy"}}`)
		b.answer("GET /permission", `[{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"]}]`)
		b.out <- ""
		b.tells(delta("prt_2", " tw"), delta("prt_2", "o three"), part("prt_2", "msg_2", `"type":"text","text":"One two three","time":{"start":1,"end":2}`), status("idle"))
		b.shows(t, "said One", "note the connection is lost; trying again", "note connected again", "said  two", "asked bash ls",
			"line 1: once, 3: no, and stop, 3 REASON: no, and go on", "said  three", "end ")
		if diff := cmp.Diff([]string{"", "41"}, b.streams); diff != "" {
			t.Error(diff)
		}
		b.types("1")
		b.out <- "" // what is looked up now tells of the answered ask still
		b.tells(status("busy"))
		b.shows(t, "note the connection is lost; trying again", "note connected again")
		b.tells(status("idle"))
		b.out <- ""
		synctest.Wait()
		b.types("hello") // waits until its answer can be heard
		b.shows(t, "note the connection is lost; trying again", "line queued: hello")
		b.sent(t, `POST /permission/per_1/reply {"reply":"once"}`)
		b.tells(status("busy")) // the next stream takes it
		b.sent(t, prompted)
		b.leaves(t, nil)
	})
}

// What was said last is shown when a session is gone on with, or as much as is asked for.
func TestHistory(t *testing.T) {
	history := `[
		{"info":{"id":"msg_1","sessionID":"ses_1","role":"user"},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"first"}]},
		{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant"},"parts":[{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"text","text":"One.","time":{"end":1}}]},
		{"info":{"id":"msg_3","sessionID":"ses_1","role":"user"},"parts":[{"id":"prt_3","sessionID":"ses_1","messageID":"msg_3","type":"text","text":"second"}]},
		{"info":{"id":"msg_4","sessionID":"ses_1","role":"assistant"},"parts":[{"id":"prt_4","sessionID":"ses_1","messageID":"msg_4","type":"text","text":"Two.","time":{"end":1}}]}]`
	last := []string{"told second", "said Two.", "end "}
	for n, want := range map[int][]string{-1: last, 0: nil, 2: last, 9: {"told first", "said One.", "end ", "told second", "said Two.", "end "}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			s.answers["GET /session/ses_1/message"] = history
			b := sit(t, s, func(c *tui.Config) { c.Begin = tui.Begin{Session: "ses_1", History: n} })
			b.shows(t, append([]string{"line Kept  ses_1"}, want...)...)
			b.leaves(t, nil)
		})
	}
}

func TestWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.answers["GET /session"] = `[{"id":"ses_9","title":"Nine"},{"id":"ses_8","parentID":"ses_9"},{"id":"ses_1","title":"Kept"}]`
		s.answers["GET /agent"] = `[{"name":"build","mode":"primary"},{"name":"plan","mode":"primary"},{"name":"explore","mode":"subagent"},{"name":"title","mode":"primary","hidden":true}]`
		s.answers["GET /command"] = `[{"name":"init"}]`
		b := sit(t, s, nil)
		b.types("/sessions", "/sessions 2", "/agents", "/agents 2", "/models", "/models mock/a/b", "/models nope", "/nope x", "/init now", "/etc/hosts is what?")
		b.shows(t, "line   1  ses_9  Nine", "line   2  ses_1  Kept", "line Kept  ses_1", "line   1  build", "line   2  plan", "line from the next prompt on: plan",
			"line   1  mock/a/b", "line   2  mock/main", "line from the next prompt on: mock/a/b", "note there is no nope here",
			"note there is no /nope; /help lists what there is", "line queued: /etc/hosts is what?")
		b.sent(t, `POST /session/ses_1/command {"agent":"plan","model":"mock/a/b","command":"init","arguments":"now"}`,
			`POST /session/ses_1/prompt_async {"agent":"plan","model":{"providerID":"mock","modelID":"a/b"},"parts":[{"type":"text","text":"/etc/hosts is what?"}]}`)
		b.types("/new", "/abort", "/help", "/quit")
		b.leaves(t, nil)
	})
}

// Where nobody types, each line is a prompt, one after another; asks are refused, and it ends with the last answer.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, newStage(), func(c *tui.Config) { c.Person, c.Input = false, strings.NewReader("hello\nagain\n") })
		b.sent(t, "POST /session {}", prompted)
		b.tells(status("busy"), `{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"]}}`,
			`{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?"}]}}`, status("idle"))
		b.sent(t, `POST /permission/per_1/reply {"reply":"reject"}`, "POST /question/que_1/reject", strings.Replace(prompted, "hello", "again", 1))
		b.tells(status("busy"), status("idle"))
		b.leaves(t, nil)
		if b.outcome.Denied != 1 || b.outcome.Session != "ses_1" {
			t.Errorf("%+v", b.outcome)
		}
	})
}

// A prompt that is refused, and one of which nothing is heard, are not waited for.
func TestNothingComes(t *testing.T) {
	for name, answer := range map[string]string{"refused": "!there is no such model", "silent": "", "missed": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				if answer != "" {
					s.answers["POST /session/ses_1/prompt_async"] = answer
				}
				if name == "missed" {
					s.answers["GET /session/ses_1/message"] = `[{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant"},"parts":[]}]`
				}
				b := sit(t, s, func(c *tui.Config) { c.Person, c.Input = false, strings.NewReader("hello\n") })
				b.leaves(t, nil)
				if want := map[string]int{"silent": 21, "missed": 1}[name]; (b.outcome.Failure != "") != (answer != "") || b.looks != want {
					t.Errorf("%+v after %d looks, want %d", b.outcome, b.looks, want)
				}
			})
		})
	}
}

func TestRefused(t *testing.T) {
	s := newStage()
	s.answers["GET /session/ses_1"] = "!not with this password"
	_, err := tui.Run(t.Context(), tui.Config{Client: s.client(), Screen: &paper{}, Input: strings.NewReader(""), Begin: tui.Begin{Session: "ses_1"}})
	if e, ok := errors.AsType[*peer.Error](err); !ok || e.Message != "not with this password" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("given up"))
	if _, err := tui.Run(ctx, tui.Config{Client: s.client(), Screen: &paper{}, Input: strings.NewReader("")}); err == nil || err.Error() != "given up" {
		t.Errorf("%v", err)
	}
}
