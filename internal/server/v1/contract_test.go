package v1_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/test/contracttest"
)

var (
	load   sync.Once
	loaded *contracttest.Contract

	loadOurs   sync.Once
	loadedOurs *contracttest.Contract
)

// ours is our own document.
func ours(t testing.TB) *contracttest.Contract {
	loadOurs.Do(func() {
		loadedOurs = contracttest.Load(t, documentFile)
		loadedOurs.Own = true
	})
	return loadedOurs
}

// contract is OpenCode's document, without V2: testdata/openapi.json.
func contract(t testing.TB) *contracttest.Contract {
	load.Do(func() { loaded = contracttest.Load(t, "testdata/openapi.json") })
	return loaded
}

// hold holds an answer against our document and OpenCode's, as every answer in these tests. Its words of errors that it
// gets wrong itself are not held: what OpenCode really says is in failure_test.go.
func (w *world) hold(t testing.TB, r *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	exchange := contracttest.HTTPExchange{
		Method: r.Method,
		Path:   r.URL.Path,
		Status: strconv.Itoa(resp.StatusCode),
		Body:   body,
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/") {
		ours(t).Check(t, exchange)
	}
	if resp.StatusCode == http.StatusBadRequest {
		holdField(t, r, string(body))
	}
	named := strings.HasPrefix(string(body), `{"name":`)
	switch {
	case resp.StatusCode == http.StatusBadRequest &&
		(named || strings.HasPrefix(string(body), `{"_tag":"BadRequest"}`)):
		return
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/"):
		return // vcs.diff.raw is no JSON, whatever the document says
	}
	w.contract.Check(t, exchange)
}

// holdFrame holds a frame of a stream against our document, as every frame in these tests.
func holdFrame(t testing.TB, path, data string) {
	t.Helper()
	kind := "BusEvent"
	if strings.HasPrefix(path, "/global/") {
		kind = "Placed"
	}
	ours(t).CheckEvent(t, kind, []byte(data))
}

var blamed = regexp.MustCompile(`\\n  at \[\\"([^"\\]+)\\"\].*"kind":"(\w+)"`)

// holdField holds that what a refusal names is a field that was sent, or that the operation has there, as our document
// has it.
func holdField(t testing.TB, r *http.Request, body string) {
	t.Helper()
	m := blamed.FindStringSubmatch(body)
	if m == nil {
		return
	}
	if sent, err := r.GetBody(); err == nil {
		if b, err := io.ReadAll(sent); err == nil && m[2] == "Payload" && strings.Contains(string(b), `"`+m[1]+`"`) {
			return
		}
	}
	var has []string
	for path, methods := range operations(t) {
		op, ok := methods[strings.ToLower(r.Method)]
		if !ok || !contracttest.MatchPath(path, r.URL.EscapedPath()) {
			continue
		}
		at := map[string]string{"query": "Query", "path": "Params"}
		for _, p := range op.Parameters {
			if at[p.In] == m[2] {
				has = append(has, p.Name)
			}
		}
		if m[2] == "Payload" {
			has = append(has, slices.Collect(maps.Keys(op.Body.Content["application/json"].Schema.Properties))...)
		}
		if s := op.Body.Content["application/json"].Schema; m[2] == "Payload" && s.Properties == nil {
			return // of several kinds, or of names that clients choose
		}
	}
	if m[2] != "Headers" && !slices.Contains(has, m[1]) {
		t.Errorf("%s %s has no %q in its %s: %s", r.Method, r.URL, m[1], m[2], body)
	}
}

// Every operation of OpenCode's document is routed under its operationId, but for those that docs/differences.md names
// as not there yet.
func TestEveryOperationIsRouted(t *testing.T) {
	var ours []string
	for _, r := range v1.ListOperations() {
		if r.ID != "" {
			ours = append(ours, r.Method+" "+r.Path+" "+r.ID)
		}
	}
	missing := notRouted(t)
	for _, op := range contract(t).ListOperations() {
		name := op[:strings.LastIndex(op, " ")]
		switch routed, named := slices.Contains(ours, op), slices.Contains(missing, name); {
		case !routed && !named:
			t.Errorf("%s is not routed, and docs/differences.md does not say so", op)
		case routed && named:
			t.Errorf("docs/differences.md says that %s is not routed, but it is", name)
		}
	}
	for _, op := range ours {
		if !slices.Contains(contract(t).ListOperations(), op) {
			t.Errorf("OpenCode has no %s", op)
		}
	}
}

// notRouted reads the operations that docs/differences.md names as not there yet.
func notRouted(t *testing.T) (missing []string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^- `((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`: not routed yet$").FindAllStringSubmatch(string(text), -1) {
		missing = append(missing, m[1])
	}
	return missing
}
