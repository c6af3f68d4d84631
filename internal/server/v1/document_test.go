package v1_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/server/contracttest"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
)

var update = flag.Bool("update", false, "write the document of the contract")

const documentFile = "../../../openapi/v1.json"

func document(t testing.TB) []byte {
	t.Helper()
	doc, err := v1.Document()
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
		t.Errorf("openapi/v1.json is not current: go generate ./internal/server/v1 (%v)\n%s", err, cmp.Diff(string(got), string(doc)))
	}
}

func TestDocumentIsServed(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, "GET", "/doc", ""); a.status != 200 || a.body != string(document(t)) {
		t.Error(a.status, len(a.body))
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
	unrouted := notRouted(t)
	argued := readLacks(t)
	used := map[string]bool{}
	for _, lack := range lacks {
		line, found := arguedBy(argued, lack)
		used[line] = true
		if !found && !slices.Contains(unrouted, lack) {
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
		if prefix, many := strings.CutSuffix(line, "*"); line == lack || many && strings.HasPrefix(lack, prefix) {
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
