package v2_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/test/contracttest"
	"github.com/cairn-dev/cairn/internal/test/script"
)

const documentFile = "../../../openapi/v2.json"

func document(t testing.TB) []byte {
	t.Helper()
	doc, err := v2.NewDocument()
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

// TestDocumentCoversOpenCodes holds that our document promises all that OpenCode's does, but for what
// testdata/lacks.txt names with the reason.
func TestDocumentCoversOpenCodes(t *testing.T) {
	contracttest.CheckCoverage(t, "testdata/openapi.json", document(t), "testdata/lacks.txt")
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

func TestDocumentDescribesOperations(t *testing.T) { contracttest.CheckDescription(t, document(t)) }
