package v2_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/test/script"
)

// recording holds responses of OpenCode, with ids and times replaced by placeholders.
type recording struct {
	Steps []struct {
		Op       string         `json:"op"`
		Path     string         `json:"path"`
		Query    map[string]any `json:"query"`
		Request  jsontext.Value `json:"request"`
		Status   int            `json:"status"`
		Response any            `json:"response"`
	} `json:"steps"`
}

// recordedModels say what the recordings' model said.
func recordedModels() map[string]script.Script {
	tokens := script.Usage{Input: 100, Output: 10}
	return map[string]script.Script{
		"v2_session": {Turns: []script.Turn{
			{Steps: []script.Step{{Text: script.Chunks{"V2 answer."}}}, Usage: tokens},
			{Steps: []script.Step{{Text: script.Chunks{"V2 partial "}}, {Gate: "g1"}}},
		}},
		"surface_v2_write": {Turns: []script.Turn{
			{
				Steps: []script.Step{
					{Call: &script.Call{ID: "call_w", Name: "write", Arguments: jsontext.Value(`{"path":"v2.txt"}`)}},
				},
				Usage: tokens,
			},
			{Steps: []script.Step{{Text: script.Chunks{"Written."}}}, Usage: tokens},
			{Steps: []script.Step{{Text: script.Chunks{"Queued answer."}}}, Usage: tokens},
		}},
	}
}

// TestRecorded repeats what OpenCode's server was asked and compares: status, members and their types, and the values
// of the members that clients branch on. Where we differ on purpose, stands in differs.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rec recording
			if err := json.Unmarshal(b, &rec); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, recordedModels()[name])
				defer w.close(t)
				w.compare(t, rec)
			})
		})
	}
}

// differs returns the status that we answer instead of the recorded one.
func differs(op, path string, recorded int) int {
	if op == "POST" && strings.HasSuffix(path, "/wait") {
		return 204 // OpenCode: 503, not available yet
	}
	return recorded
}

// named gives the sessions a title: one without a title is named after its first prompt, which OpenCode does later
// and which is an event of its own, so that all seqs behind it would be others than the recorded ones.
func named(op, path, body string) string {
	var members map[string]jsontext.Value
	if op != "POST" || path != "/api/session" || json.Unmarshal([]byte(body), &members) != nil {
		return body
	}
	members["title"] = jsontext.Value(`"recorded"`)
	b, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (w *world) compare(t *testing.T, rec recording) {
	t.Helper()
	c := &comparison{t: t, bound: map[string]string{"<WORK>": work, "<ROOT>": "/root"}}
	for _, s := range rec.Steps {
		if strings.Contains(s.Path, "<ses#5>") {
			c.bound["<ses#5>"] = "ses_f0000000000zzzzzzzzzzzzzzz"
		}
		q := url.Values{}
		for k, v := range s.Query {
			q.Set(k, c.fill(fmt.Sprint(v)))
		}
		target := c.fill(s.Path)
		if len(q) > 0 {
			target += "?" + q.Encode()
		}
		c.at = s.Op + " " + s.Path
		req := httptest.NewRequestWithContext(
			t.Context(),
			s.Op,
			target,
			strings.NewReader(named(s.Op, s.Path, c.fill(string(s.Request)))),
		)
		if s.Request != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, req)
		synctest.Wait()
		want := differs(s.Op, s.Path, s.Status)
		if answer.Code != want {
			t.Errorf("%s: %d, recorded %d: %s", c.at, answer.Code, want, answer.Body)
			continue
		}
		if want != s.Status || answer.Body.Len() == 0 {
			continue
		}
		var got any
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
			t.Errorf("%s: %v", c.at, err)
			continue
		}
		withoutAdditions(got)
		c.same("", s.Response, got)
	}
}

// comparison binds the placeholders of a recording to our values as they appear.
type comparison struct {
	t     *testing.T
	at    string
	bound map[string]string
}

var aPlaceholder = regexp.MustCompile(`<[A-Za-z]+(#\d+)?>`)

func (c *comparison) fill(s string) string {
	return aPlaceholder.ReplaceAllStringFunc(s, func(p string) string {
		if v, ok := c.bound[p]; ok {
			return v
		}
		if kind, n, ok := strings.Cut(strings.Trim(p, "<>"), "#"); ok { // made by the client
			c.bound[p] = kind + "_made" + n
			return c.bound[p]
		}
		return p
	})
}

// branched are the members whose values clients act upon.
var branched = []string{
	"_tag",
	"type",
	"delivery",
	"effect",
	"finish",
	"hasMore",
	"admittedSeq",
	"promotedSeq",
	"seq",
	"status",
	"healthy",
	"name",
	"field",
}

// later are members that come with working-tree snapshots, and the variant that OpenCode fills in.
var later = []string{"snapshot", "files", "outputPaths", "variant"}

func (c *comparison) same(path string, want, got any) {
	c.t.Helper()
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.t.Errorf("%s: %s is %T", c.at, path, got)
			return
		}
		for _, k := range slices.Backward(slices.Sorted(maps.Keys(want))) { // the cursor that was followed is "next"
			v := want[k]
			if strings.HasPrefix(k, "<") || slices.Contains(later, k) || opaque(path) {
				continue
			}
			if _, ok := g[k]; !ok {
				c.t.Errorf("%s: %s.%s is missing", c.at, path, k)
				continue
			}
			c.same(path+"."+k, v, g[k])
		}
		for k := range g {
			if _, ok := want[k]; !ok && !slices.Contains(later, k) && k != "kind" && !opaque(path) && !boundKey(want) {
				c.t.Errorf("%s: %s.%s is not recorded", c.at, path, k)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			c.t.Errorf("%s: %s is %T", c.at, path, got)
			return
		}
		if len(want) != len(g) && len(want) > 0 {
			c.t.Errorf("%s: %s has %d items, recorded %d", c.at, path, len(g), len(want))
			return
		}
		for i := range want {
			c.same(fmt.Sprintf("%s[%d]", path, i), want[i], g[i])
		}
	case string:
		c.text(path, want, got)
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) || (slices.Contains(branched, last(path)) && want != got) {
			c.t.Errorf("%s: %s is %v, recorded %v", c.at, path, got, want)
		}
	}
}

// opaque are values that belong to a tool or a provider.
func opaque(path string) bool {
	return strings.HasSuffix(path, ".input") || strings.HasSuffix(path, ".structured") ||
		strings.HasSuffix(path, ".api")
}

// boundKey reports whether the recorded members are ids.
func boundKey(want map[string]any) bool {
	for k := range want {
		if strings.HasPrefix(k, "<") {
			return true
		}
	}
	return false
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (c *comparison) text(path, want string, got any) {
	c.t.Helper()
	if want == "<ts>" || want == "<version>" {
		if _, ok := got.(float64); !ok {
			c.t.Errorf("%s: %s is %v, recorded a number", c.at, path, got)
		}
		return
	}
	g, ok := got.(string)
	if !ok {
		c.t.Errorf("%s: %s is %v, recorded %q", c.at, path, got, want)
		return
	}
	if aPlaceholder.FindString(want) == want {
		if before, ok := c.bound[want]; ok && before != g && strings.Contains(want, "#") {
			c.t.Errorf("%s: %s is %s, before it was %s", c.at, path, g, before)
		}
		c.bound[want] = g
		return
	}
	if slices.Contains(branched, last(path)) && c.fill(want) != g {
		c.t.Errorf("%s: %s is %q, recorded %q", c.at, path, g, want)
	}
}
