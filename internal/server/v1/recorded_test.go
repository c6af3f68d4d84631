package v1_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/location/pty"
)

// TestReplaysOfRecordings plays what a client once sent to OpenCode 1.18.33 and holds the answers, every session at the
// end and what the event stream said to what was recorded. The model says what OpenCode's said.
func TestReplaysOfRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rec recording
			if err := json.Unmarshal(raw, &rec); err != nil {
				t.Fatal(err)
			}
			replay(t, &rec)
		})
	}
}

type recording struct {
	Steps []struct {
		Op       string            `json:"op"`
		Headers  map[string]string `json:"headers"`
		Path     string            `json:"path"`
		Query    map[string]any    `json:"query"`
		Request  any               `json:"request"`
		Status   int               `json:"status"`
		Response any               `json:"response"`
	} `json:"steps"`
	Final  []map[string]any `json:"final"`
	Events []any            `json:"events"`
}

func replay(t *testing.T, rec *recording) {
	rules := ""
	if strings.Contains(t.Name(), "permission") {
		rules = `, "permission": {"bash": "ask", "edit": "ask"}`
	}
	model, at := newSpeaker(t, rec)
	w := newWorldOf(t, at, rules, map[string]string{
		"README.md": "# demo\n", "a.txt": "alpha\nbeta\ngamma\n",
		"src/main.py": "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n",
		"src/util.py": "def sub(a, b):\n    return a - b\n",
	})
	model.work = w.work
	c := &comparison{t: t, bound: map[string]string{"<WORK>": w.work}}
	b := listen(t, w)
	b.await("the beginning of the stream", func() bool { return len(b.events) > 0 })
	if begin, _ := rec.Steps[0].Request.(map[string]any); begin["title"] == nil {
		model.named = func() {
			b.await("the title", func() bool { return strings.Contains(fmt.Sprint(b.events), "title:"+model.title) })
		}
	}
	var prompts sync.WaitGroup
	cut := false // the prompt that runs will be aborted
	for _, s := range rec.Steps {
		passMillisecond()
		if !strings.Contains(s.Path, "permission") && !strings.Contains(s.Path, "question") && !cut {
			prompts.Wait() // the client that was recorded waited too
		}
		path := b.ready(c, s.Path)
		step := func() {
			got := w.ask(t, s.Op, path+query(s.Query), c.invent(body(s.Request)), pairs(s.Headers)...)
			if got.status != s.Status {
				t.Errorf("%s %s: %d %s, recorded %d", s.Op, s.Path, got.status, got.body, s.Status)
			}
			c.same(s.Op+" "+s.Path, s.Response, read(t, got.body))
		}
		if s.Op == http.MethodPost && strings.HasSuffix(s.Path, "/message") {
			prompts.Go(step)
			cut = strings.Contains(fmt.Sprint(s.Response), "MessageAbortedError")
			b.await("the work", func() bool { return b.hasEvent("session.status") })
			continue
		}
		step()
		cut = cut && !strings.HasSuffix(s.Path, "/abort")
	}
	prompts.Wait()
	b.await("the last event", func() bool { return len(whole(b.events)) >= len(whole(rec.Events)) })
	for _, f := range rec.Final {
		info, _ := f["info"].(map[string]any)
		id := c.fill(info["id"].(string))
		c.same("session", info, get[any](t, w, "/session/"+id))
		c.same("messages", f["messages"], get[any](t, w, "/session/"+id+"/message"))
		c.same("todo", f["todo"], get[any](t, w, "/session/"+id+"/todo"))
	}
	c.lanes(rec.Events, b.events)
}

// passMillisecond returns in another millisecond: lists order what changed in the same one by id, not as was recorded.
func passMillisecond() {
	for begun := time.Now().UnixMilli(); time.Now().UnixMilli() == begun; {
		runtime.Gosched()
	}
}

func query(q map[string]any) string {
	v := url.Values{}
	for k, x := range q {
		v.Set(k, strings.ReplaceAll(fmt.Sprint(x), "<WORK>", ""))
	}
	if len(v) == 0 {
		return ""
	}
	if v.Has("start") {
		v.Set("start", "9999999999999")
	}
	if v.Get("directory") == "" {
		v.Del("directory")
	}
	return "?" + v.Encode()
}

func body(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(b), `"<ts>"`, "1700000000000")
}

func pairs(headers map[string]string) (list []string) {
	for name, value := range headers {
		list = append(list, http.CanonicalHeaderKey(name), value)
	}
	return list
}

func read(t testing.TB, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%v in %s", err, body)
	}
	return v
}

// bus collects the frames of the event stream.
type bus struct {
	t      *testing.T
	mu     sync.Mutex // guards the rest
	more   *sync.Cond
	events []any
	late   bool
}

func listen(t *testing.T, w *world) *bus {
	t.Helper()
	b := &bus{t: t}
	b.more = sync.NewCond(&b.mu)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	var reader sync.WaitGroup
	t.Cleanup(func() { cancel(); resp.Body.Close(); reader.Wait() })
	reader.Go(func() {
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e map[string]any
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Error(err, data)
			}
			holdFrame(t, "/event", data)
			delete(e, "id")
			b.mu.Lock()
			b.events = append(b.events, e)
			b.more.Broadcast()
			b.mu.Unlock()
		}
	})
	return b
}

// await waits until the stream has brought what must come.
func (b *bus) await(what string, done func() bool) {
	b.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.late = true
		b.more.Broadcast()
	})
	defer late.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !done() {
		if b.late {
			b.t.Fatalf("%s never came: %v", what, b.events)
		}
		b.more.Wait()
	}
}

// hasEvent reports whether an event of the type came. mu is held.
func (b *bus) hasEvent(kind string) bool {
	return slices.ContainsFunc(b.events, func(e any) bool { return e.(map[string]any)["type"] == kind })
}

// ready waits until what a step is about is there and returns its path in our ids.
func (b *bus) ready(c *comparison, path string) string {
	b.t.Helper()
	if strings.HasSuffix(path, "/abort") {
		b.await("text", func() bool { return b.hasEvent("message.part.delta") })
	}
	if p := regexp.MustCompile(`<(per|que)#(\d+)>`).FindStringSubmatch(path); p != nil {
		kind := map[string]string{"per": "permission.asked", "que": "question.asked"}[p[1]]
		n, _ := strconv.Atoi(p[2])
		b.await(p[0], func() bool {
			var asked []string
			for _, e := range b.events {
				if e := e.(map[string]any); e["type"] == kind {
					asked = append(asked, e["properties"].(map[string]any)["id"].(string))
				}
			}
			if len(asked) >= n {
				c.bind(p[0], asked[n-1])
			}
			return len(asked) >= n
		})
	} else if path == "/permission" || path == "/question" {
		b.await("an ask", func() bool { return b.hasEvent(path[1:] + ".asked") })
	}
	return c.fill(path)
}

// whole leaves out what may come in more or fewer pieces.
func whole(events []any) (out []any) {
	for _, e := range events {
		if kind, _ := e.(map[string]any)["type"].(string); !strings.HasPrefix(kind, "message.part.") {
			out = append(out, e)
		}
	}
	return out
}

// comparison holds what is to what was recorded, and learns which of our ids stands for which placeholder.
type comparison struct {
	t     *testing.T
	mu    sync.Mutex // guards bound
	bound map[string]string
}

var aPlaceholder = regexp.MustCompile(`<[a-zA-Z]+(#\d+)?>`)

func (c *comparison) bind(placeholder, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound[placeholder] = id
}

// invent is fill for what a client sends, whose new ids are its own.
func (c *comparison) invent(s string) string {
	for _, p := range regexp.MustCompile(`<(msg|prt)#\d+>`).FindAllStringSubmatch(s, -1) {
		if c.fill(p[0]) == p[0] {
			c.bind(p[0], p[1]+"_f00000000001aaaaaaaaaaaaaa")
		}
	}
	return c.fill(s)
}

// fill writes our ids for the placeholders that are known.
func (c *comparison) fill(s string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return aPlaceholder.ReplaceAllStringFunc(s, func(p string) string {
		if v, ok := c.bound[p]; ok {
			return v
		}
		return p
	})
}

func (c *comparison) same(path string, want, got any) {
	c.t.Helper()
	switch want := want.(type) {
	case map[string]any:
		if want["status"] == "running" { // what it says of itself until then is a matter of time
			delete(want, "metadata")
			if g, ok := got.(map[string]any); ok {
				delete(g, "metadata")
			}
		}
		g, ok := got.(map[string]any)
		if !ok {
			c.t.Errorf("%s is %v, recorded %v", path, got, want)
			return
		}
		c.members(path, want, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			c.t.Errorf("%s is %v, recorded %v", path, got, want)
			return
		}
		for i := range want {
			c.same(fmt.Sprintf("%s[%d]", path, i), want[i], g[i])
		}
	case string:
		if !c.matches(want, got) && !(strings.Contains(path, ".always[") && narrower(want, got)) {
			c.t.Errorf("%s is %v, recorded %q (%s)", path, got, want, c.fill(want))
		}
	default:
		if want != got && !(strings.HasSuffix(path, ".expires_in") && got == pty.TicketLife.Seconds()) {
			c.t.Errorf("%s is %v, recorded %v", path, got, want)
		}
	}
}

// narrower reports whether we offer to allow for good some of what OpenCode offers, which docs/differences.md argues.
func narrower(pattern string, got any) bool {
	g, ok := got.(string)
	program, any := strings.CutSuffix(pattern, "*")
	return ok && any && strings.HasPrefix(g, program)
}

func (c *comparison) members(path string, want, got map[string]any) {
	c.t.Helper()
	for k, v := range want {
		g, ok := got[c.fill(k)]
		if !ok {
			c.t.Errorf("%s.%s is missing", path, k)
			continue
		}
		c.same(path+"."+k, v, g)
	}
	for k := range want {
		if f := c.fill(k); f != k {
			want[f] = want[k]
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok && !(k == "sandbox" &&
			strings.HasSuffix(path, ".metadata")) { // docs/differences.md T21
			c.t.Errorf("%s.%s is not recorded", path, k)
		}
	}
}

// matches reports whether got is what the text with its placeholders says. A placeholder of an id is bound by the
// first.
func (c *comparison) matches(want string, got any) bool {
	if want == "<pid>" {
		n, ok := got.(float64)
		return ok && n > 1
	}
	if want == "<ts>" {
		n, ok := got.(float64)
		return ok && n > 1e12
	}
	g, ok := got.(string)
	if !ok {
		return false
	}
	if p := aPlaceholder.FindString(want); p == want && strings.Contains(p, "#") && c.fill(p) == p {
		c.bind(p, g)
		return true
	}
	pattern := "^"
	rest := c.fill(want)
	for at := aPlaceholder.FindStringIndex(rest); at != nil; at = aPlaceholder.FindStringIndex(rest) {
		pattern += regexp.QuoteMeta(rest[:at[0]]) + "(?s:.+)"
		rest = rest[at[1]:]
	}
	return regexp.MustCompile(pattern + regexp.QuoteMeta(rest) + "$").MatchString(g)
}

// lanes compares what was said of each message, part, session and ask: events about different things may stand in any
// order. Deltas are joined, and of a running call only that it runs counts.
func (c *comparison) lanes(want, got []any) {
	c.t.Helper()
	w, g := c.split(want), c.split(got)
	for lane, events := range w {
		c.same("events of "+lane, any(events), any(g[lane]))
	}
	for lane, events := range g {
		if w[lane] == nil {
			c.t.Errorf("events of %s: %v, none are recorded", lane, events)
		}
	}
}

func (c *comparison) split(events []any) map[string][]any {
	out := map[string][]any{}
	for _, e := range events {
		e := e.(map[string]any)
		lane := laneOf(e)
		lane = c.fill(lane)
		if n := len(out[lane]); n > 0 && continues(out[lane][n-1].(map[string]any), e) {
			continue
		}
		out[lane] = append(out[lane], e)
	}
	return out
}

func laneOf(e map[string]any) string {
	kind, _ := e["type"].(string)
	p, _ := e["properties"].(map[string]any)
	info, _ := p["info"].(map[string]any)
	part, _ := p["part"].(map[string]any)
	switch {
	case part != nil:
		return fmt.Sprint("part ", part["id"])
	case p["partID"] != nil:
		return fmt.Sprint("part ", p["partID"])
	case info != nil:
		return fmt.Sprint("info ", info["id"])
	case strings.HasPrefix(kind, "session.diff"), strings.HasPrefix(kind, "todo"):
		return fmt.Sprint(kind, " ", p["sessionID"])
	case p["sessionID"] != nil:
		lane, _, _ := strings.Cut(kind, ".")
		return fmt.Sprint(lane, " ", p["sessionID"])
	default:
		return kind
	}
}

// continues joins e to the event before it if both are pieces of one thing.
func continues(before, e map[string]any) bool {
	if before["type"] != e["type"] {
		return false
	}
	b, p := before["properties"].(map[string]any), e["properties"].(map[string]any)
	if e["type"] == "message.part.delta" {
		b["delta"] = fmt.Sprint(b["delta"], p["delta"])
		return true
	}
	running := func(p map[string]any) bool {
		part, _ := p["part"].(map[string]any)
		state, _ := part["state"].(map[string]any)
		return state["status"] == "running"
	}
	return e["type"] == "message.part.updated" && running(b) && running(p)
}
