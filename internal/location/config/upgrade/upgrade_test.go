package upgrade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// describe upgrades a document and returns what became of it: the JSON and the notes, or the error.
func describe(d *document.Document, steps []step) string {
	if err := d.Parse(); err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	notes, err := apply(d, steps)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	text := string(d.Root.AppendJSON(nil, document.AsWritten)) + "\n"
	for _, n := range notes {
		text += fmt.Sprintf("%s: %s %s\n", n.At, n.Key, n.Message)
	}
	return text
}

func newDocument(name, text string) *document.Document {
	return &document.Document{Name: name, Layer: document.LayerUser, Text: []byte(text)}
}

// TestFilesOfEveryVersion reads files of each version, which the folder testdata/VERSION has. They are never changed:
// a later step changes what they become.
func TestFilesOfEveryVersion(t *testing.T) {
	for version := 1; version <= Current; version++ {
		archives, _ := filepath.Glob(filepath.Join("testdata", strconv.Itoa(version), "*.txtar"))
		if len(archives) == 0 {
			t.Errorf("no files of version %d in testdata", version)
		}
		for _, name := range archives {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := txtar.Parse(text).Files
			for pair := range slices.Chunk(files, 2) {
				t.Run(fmt.Sprintf("%d/%s", version, pair[0].Name), func(t *testing.T) {
					got := describe(newDocument(pair[0].Name, string(pair[0].Data)), steps)
					if diff := cmp.Diff(string(pair[1].Data), got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", pair[1].Name, diff)
					}
				})
			}
		}
	}
}

// TestStepsAreNeighbours checks that there is one step to each version after the first, up to the current one.
func TestStepsAreNeighbours(t *testing.T) {
	var to []int
	for _, s := range steps {
		to = append(to, s.to)
	}
	var want []int
	for version := 2; version <= Current; version++ {
		want = append(want, version)
	}
	if !slices.Equal(to, want) {
		t.Errorf("steps lead to the versions %v, want %v", to, want)
	}
}

// TestApplyWalksFromTheVersion renames a key twice and checks where documents of each version enter.
func TestApplyWalksFromTheVersion(t *testing.T) {
	rename := func(to int, from, key string) step {
		return step{
			to:       to,
			replaced: []replacement{{from, "write " + key}},
			apply: func(d *document.Document) ([]Note, error) {
				n := d.Root.RemoveMember(from)
				if n == nil {
					return nil, nil
				}
				d.Root.Set(key, n)
				return []Note{{n.FindPosition(), from, "is read as " + key}}, nil
			},
		}
	}
	chain := []step{rename(2, "first", "second"), rename(3, "second", "third")}
	for _, c := range []struct{ text, want string }{
		{`{"first":1}`, "{\"third\":1}\nf:1:10: first is read as second\nf:1:10: second is read as third\n"},
		{`{"version":2,"second":1}`, "{\"third\":1}\nf:1:23: second is read as third\n"},
		{`{"version":3,"third":1}`, "{\"third\":1}\n"},
		{`{"version":3,"second":1}`, "error: f:1:23: second: is a key of version 2: in version 3 write third\n"},
		{`{"version":2,"first":1}`, "error: f:1:22: first: is a key of version 1: in version 2 write second\n"},
		{`{"version":4}`, "error: f:1:12: version: the file was written for a newer cairn: version 4, " +
			"this one knows up to 3; update cairn\n"},
		{`{"version":0}`, "error: f:1:12: version: want a whole number, 1 or more, got 0\n"},
		{`{"version":1.5}`, "error: f:1:12: version: want a whole number, 1 or more, got 1.5\n"},
		{`{"version":"2"}`, "error: f:1:12: version: want a whole number, 1 or more, got \"2\"\n"},
		{`{"version":99999999999999999999}`, "error: f:1:12: version: want a whole number, 1 or more, got 99999999999999999999\n"},
		{``, "{}\n"},
	} {
		if got := describe(newDocument("f", c.text), chain); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// TestVersionsOfOpenCode checks that a version in a file of OpenCode is not one of cairn's.
func TestVersionsOfOpenCode(t *testing.T) {
	for _, text := range []string{`{"version":"1.17","model":"a/b"}`, `{"version":99,"model":"a/b"}`} {
		d := newDocument("opencode.json", text)
		d.Foreign = true
		want := "{\"model\":\"a/b\"}\nopencode.json:1:12: version has no effect in a file of OpenCode\n"
		if got := describe(d, steps); got != want {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}

// TestDocumentsOfThisCairn checks that what cairn itself writes is not taken for a document of version 1.
func TestDocumentsOfThisCairn(t *testing.T) {
	d := newDocument("default", `{"sandbox":{"mode":"off"}}`)
	d.Current = true
	if got := describe(d, steps); got != "{\"sandbox\":{\"mode\":\"off\"}}\n" {
		t.Error(got)
	}
	d = newDocument("default", `{"sandbox":{"enabled":true}}`)
	d.Current = true
	if got := describe(d, steps); !strings.HasPrefix(got, "error: default:1:23: sandbox.enabled: is a key of version 1") {
		t.Error(got)
	}
}

func TestDescribeReplaced(t *testing.T) {
	if got := DescribeReplaced("sandbox.enabled"); !strings.Contains(got, "since version 2 write") {
		t.Errorf("sandbox.enabled: %q", got)
	}
	if got := DescribeReplaced("sandbox.mode"); got != "" {
		t.Errorf("sandbox.mode: %q", got)
	}
}
