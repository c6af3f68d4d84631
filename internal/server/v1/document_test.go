package v1_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/test/contracttest"
)

var update = flag.Bool("update", false, "write the document of the contract")

const documentFile = "../../../openapi/v1.json"

func document(t testing.TB) []byte {
	t.Helper()
	doc, err := v1.NewDocument()
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
		t.Errorf(
			"openapi/v1.json is not current: go generate ./internal/server/v1 (%v)\n%s",
			err,
			cmp.Diff(string(got), string(doc)),
		)
	}
}

func TestDocumentIsServed(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, "GET", "/doc", ""); a.status != 200 || a.body != string(document(t)) {
		t.Error(a.status, len(a.body))
	}
}

// TestDocumentCoversOpenCodes holds that our document promises all that OpenCode's does, but for what
// testdata/lacks.txt names with the reason.
func TestDocumentCoversOpenCodes(t *testing.T) {
	contracttest.CheckCoverage(t, "testdata/openapi.json", document(t), "testdata/lacks.txt", notRouted(t)...)
}

func TestDocumentDescribesOperations(t *testing.T) { contracttest.CheckDescription(t, document(t)) }
