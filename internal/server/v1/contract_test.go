package v1_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/server/contracttest"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
)

var (
	load   sync.Once
	loaded *contracttest.Contract

	loadOurs   sync.Once
	loadedOurs *contracttest.Contract
)

// ours is our own document.
func ours(t testing.TB) *contracttest.Contract {
	loadOurs.Do(func() { loadedOurs = contracttest.Load(t, documentFile) })
	return loadedOurs
}

// contract is OpenCode's document, without V2: testdata/openapi.json.
func contract(t testing.TB) *contracttest.Contract {
	load.Do(func() { loaded = contracttest.Load(t, "testdata/openapi.json") })
	return loaded
}

// hold holds an answer against our document and OpenCode's, as every answer in these tests. Its words of errors that it gets
// wrong itself (spec/http §4) are not held: what OpenCode really says is in failure_test.go.
func (w *world) hold(t testing.TB, r *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	exchange := contracttest.Exchange{Method: r.Method, Path: r.URL.Path, Status: strconv.Itoa(resp.StatusCode), Body: body}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/") {
		ours(t).Check(t, exchange)
	}
	named := strings.HasPrefix(string(body), `{"name":`)
	switch {
	case resp.StatusCode == http.StatusBadRequest && (named || strings.HasPrefix(string(body), `{"_tag":"BadRequest"}`)):
		return
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/"):
		return // vcs.diff.raw is no JSON, whatever the document says
	}
	w.contract.Check(t, exchange)
}

// Every operation of OpenCode's document is routed under its operationId, but for those that docs/differences.md names
// as not there yet.
func TestEveryOperationIsRouted(t *testing.T) {
	var ours []string
	for _, r := range v1.Routes() {
		if r.ID != "" {
			ours = append(ours, r.Method+" "+r.Path+" "+r.ID)
		}
	}
	missing := notRouted(t)
	for _, op := range contract(t).Operations() {
		name := op[:strings.LastIndex(op, " ")]
		switch routed, named := slices.Contains(ours, op), slices.Contains(missing, name); {
		case !routed && !named:
			t.Errorf("%s is not routed, and docs/differences.md does not say so", op)
		case routed && named:
			t.Errorf("docs/differences.md says that %s is not routed, but it is", name)
		}
	}
	for _, op := range ours {
		if !slices.Contains(contract(t).Operations(), op) {
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
