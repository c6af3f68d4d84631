package v2_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cairn-dev/cairn/internal/test/contracttest"
	"github.com/cairn-dev/cairn/internal/test/script"
)

var update = flag.Bool("update", false, "write what the exchanges answered")

// TestExchanges plays the files of testdata/exchanges: a model script, and a conversation over HTTP with a real engine.
// Lines that begin with ">" are requests, ">>" their headers, "!" what happens beside ("wait": until all is quiet;
// "open g1": let the model pass a gate); what follows "<" is the answer, with ids and times replaced by placeholders.
// Every answer is held to OpenCode's own OpenAPI document.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no exchanges", err)
	}
	c, ours := loadContract(t), contracttest.Load(t, documentFile)
	ours.Own = true
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			s, text := parts(t, ar)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, s)
				defer w.close(t)
				p := &player{
					world:    w,
					contract: c,
					ours:     ours,
					names:    map[string]string{},
					ids:      map[string]string{},
					counts:   map[string]int{},
				}
				got = p.play(t, text)
			})
			if *update {
				setPart(ar, got)
				if err := os.WriteFile(file, txtar.Format(ar), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(text), string(got)); d != "" {
				t.Errorf("the exchange went another way (-want +got; -update writes it):\n%s", d)
			}
		})
	}
}

func parts(t testing.TB, ar *txtar.Archive) (s script.Script, exchange []byte) {
	t.Helper()
	for _, f := range ar.Files {
		switch f.Name {
		case "model.json":
			var err error
			if s, err = script.Parse(f.Data); err != nil {
				t.Fatal(err)
			}
		case "exchange":
			exchange = f.Data
		}
	}
	return s, exchange
}

func setPart(ar *txtar.Archive, exchange []byte) {
	for i := range ar.Files {
		if ar.Files[i].Name == "exchange" {
			ar.Files[i].Data = exchange
		}
	}
}

// player plays one exchange.
type player struct {
	*world
	contract *contracttest.Contract // OpenCode's
	ours     *contracttest.Contract
	names    map[string]string // id -> placeholder
	ids      map[string]string // placeholder -> id
	counts   map[string]int
}

// play runs the requests of the text and returns it with the answers of now.
func (p *player) play(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var header http.Header
	skipping := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		request, isRequest := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, ">> "):
			name, value, _ := strings.Cut(p.real(t, line[3:]), ": ")
			header = http.Header{}
			header.Set(name, value)
		case isRequest:
		case strings.HasPrefix(line, "! "):
			p.beside(t, line[2:])
		case strings.HasPrefix(line, "<"):
			skipping = true
			continue
		case line == "":
			skipping = false
		case skipping:
			continue
		}
		fmt.Fprintln(&out, line)
		if isRequest {
			out.WriteString(p.exchange(t, p.real(t, request), header))
			header = nil
		}
	}
	return out.Bytes()
}

func (p *player) beside(t *testing.T, what string) {
	t.Helper()
	gate, isGate := strings.CutPrefix(what, "open ")
	switch {
	case isGate:
		close(p.player().Gates[gate])
	case what != "wait":
		t.Fatalf("! %s means nothing", what)
	}
	synctest.Wait()
}

func (p *player) player() *script.Player { return p.world.player }

// exchange makes one request, "METHOD path [body]" or "SSE n path", and returns the answer as text.
func (p *player) exchange(t *testing.T, request string, header http.Header) string {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	if method == "SSE" {
		n, path, _ := strings.Cut(rest, " ")
		count, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		return p.stream(t, path, header, count)
	}
	path, body, hasBody := strings.Cut(rest, " ")
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if hasBody {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	p.handler.ServeHTTP(rec, req)
	mark := ""
	exchange := contracttest.HTTPExchange{
		Method: method,
		Path:   req.URL.Path,
		Status: strconv.Itoa(rec.Code),
		Body:   rec.Body.Bytes(),
	}
	if !p.ours.Check(t, exchange) && rec.Code < 300 {
		t.Errorf("%s %s %d is not in our document", method, path, rec.Code)
	}
	if req.URL.Query().Has("all") || !p.contract.Check(t, exchange) {
		mark = " (ours)"
	}
	return fmt.Sprintf("< %d%s\n%s", rec.Code, mark, p.pretty(t, rec.Body.Bytes()))
}

// stream reads n frames.
func (p *player) stream(t *testing.T, path string, header http.Header, n int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := p.client.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out strings.Builder
	fmt.Fprintf(&out, "< %d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	union := "SessionDurableEvent"
	if u.Path == "/api/event" {
		union = "V2Event"
	}
	for lines := bufio.NewScanner(resp.Body); n > 0 && lines.Scan(); {
		line := lines.Text()
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			n--
			p.ours.CheckEvent(t, "ShownEvent", []byte(data))
			ours := strings.Contains(data, `"ephemeral":true`) || strings.Contains(data, `"session.next.input.`)
			if !ours && !u.Query().Has("all") {
				p.contract.CheckEvent(t, union, []byte(data))
			}
			line = "data: " + strings.TrimSpace(p.pretty(t, []byte(data)))
		}
		if line != "" {
			fmt.Fprintln(&out, p.named(line))
		}
	}
	return out.String()
}

// pretty shows JSON with placeholders, one member per line.
func (p *player) pretty(t *testing.T, body []byte) string {
	t.Helper()
	if len(body) == 0 {
		return ""
	}
	v := jsontext.Value(body).Clone()
	if err := v.Canonicalize(); err != nil {
		t.Errorf("not JSON: %v: %s", err, body)
		return string(body)
	}
	var tree any
	if err := json.Unmarshal(v, &tree); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p.hide("", tree), json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		t.Fatal(err)
	}
	return p.named(string(b)) + "\n"
}

// hide replaces times and cursors.
func (p *player) hide(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) { // placeholders are numbered as they appear
			v[k] = p.hide(k, v[k])
		}
	case []any:
		for i, e := range v {
			v[i] = p.hide(name, e)
		}
	case float64:
		if v > 9e11 {
			return "<ts>"
		}
	case string:
		if name == "slug" {
			return "<slug>"
		}
		if (name == "previous" || name == "next") && len(v) > 20 {
			return p.name("cursor", v)
		}
	}
	return v
}

var (
	anID  = regexp.MustCompile(`\b(ses|msg|prt|evt|per|psv|que)_[0-9a-f]{12}[0-9A-Za-z]{14,16}\b|\berr_[0-9a-f]{8}\b`)
	anISO = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	aName = regexp.MustCompile(`<[a-z]+#\d+>`)
)

// named replaces ids by placeholders, numbered as they appear.
func (p *player) named(s string) string {
	s = anISO.ReplaceAllString(s, "<iso>")
	return anID.ReplaceAllStringFunc(s, func(id string) string { return p.name(id[:3], id) })
}

func (p *player) name(kind, id string) string {
	if n, ok := p.names[id]; ok {
		return n
	}
	p.counts[kind]++
	n := fmt.Sprintf("<%s#%d>", kind, p.counts[kind])
	p.names[id], p.ids[n] = n, id
	return n
}

// real replaces placeholders by what they stand for.
func (p *player) real(t *testing.T, s string) string {
	t.Helper()
	return aName.ReplaceAllStringFunc(s, func(n string) string {
		id, ok := p.ids[n]
		if !ok {
			t.Errorf("%s has not appeared yet", n)
		}
		return id
	})
}

// frames returns the data of the first n frames of a stream.
func (w *world) frames(t *testing.T, path string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out []string
	for lines := bufio.NewReader(resp.Body); len(out) < n; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}
