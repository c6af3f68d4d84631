package v2_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/server/contracttest"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

const documentFile = "../../../openapi/v2.json"

func document(t testing.TB) []byte {
	t.Helper()
	doc, err := v2.Document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The committed document is what the types say.
func TestDocumentIsCurrent(t *testing.T) {
	doc := document(t)
	if *update {
		if err := os.WriteFile(documentFile, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentFile)
	if err != nil || string(got) != string(doc) {
		t.Errorf("openapi/v2.json is not current: go generate ./internal/server/v2 (%v)", err)
	}
}

// TestDocumentCoversOpenCodes holds that our document promises all that OpenCode's does, but for what testdata/lacks.txt
// names with the reason.
func TestDocumentCoversOpenCodes(t *testing.T) {
	theirs, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	lacks, err := contracttest.Lacks(theirs, document(t))
	if err != nil {
		t.Fatal(err)
	}
	argued := readLacks(t)
	used := map[string]bool{}
	for _, lack := range lacks {
		line, found := arguedBy(argued, lack)
		used[line] = true
		if !found {
			t.Errorf("not in our document: %s", lack)
		}
	}
	for line := range argued {
		if !used[line] {
			t.Errorf("testdata/lacks.txt names %s, which is there: take the line out", line)
		}
	}
}

// arguedBy returns the line that stands for the lack.
func arguedBy(argued map[string]string, lack string) (string, bool) {
	for line := range argued {
		before, after, many := strings.Cut(line, "*")
		if line == lack || many && strings.HasPrefix(lack, before) && strings.HasSuffix(lack, after) {
			return line, true
		}
	}
	return "", false
}

// readLacks reads the lines with their reasons: the comment above them.
func readLacks(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/lacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	reason := ""
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason = ""
		case line[0] == '#':
			reason += line
		case reason == "":
			t.Errorf("testdata/lacks.txt gives no reason for %s", line)
		default:
			out[line] = reason
		}
	}
	return out
}

func TestDocumentIsServed(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/doc", nil))
	if rec.Code != http.StatusOK || rec.Body.String() != string(document(t)) {
		t.Error(rec.Code, rec.Body.Len())
	}
}
