package describe

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestPreview(t *testing.T) {
	long := strings.Repeat("+x\\n", 100)
	for in, want := range map[string]int{
		``: 0, `nonsense`: 0, `{"diff":7}`: 0, `{"diff":"Index: a\n=====\n+a\n-b\n"}`: 2,
		`{"diff":"` + long + `"}`:   maxPreviewLines + 1,
		`{"limit":"5","spent":"6"}`: 1,
	} {
		if got := askPreview(jsontext.Value(in)); len(got) != want {
			t.Errorf("preview(%.40s) has %d lines, want %d", in, len(got), want)
		}
	}
}

// Of a part of a command the whole is shown too.
func TestDetails(t *testing.T) {
	for _, c := range []struct {
		metadata  string
		resources []string
		want      []string
	}{
		{`{"command":"ls"}`, []string{"ls"}, nil},
		{`{"command":"ls && rm x"}`, []string{"ls", "rm x"}, []string{"in: ls && rm x"}},
		{`{"command":"ls > a\nrm x\u001b[2J"}`, []string{"a"}, []string{"in: ls > a", "    rm x�[2J"}},
		{`{"command":7}`, []string{"a"}, nil},
		{``, nil, nil},
	} {
		got := AskDetails(session.PendingAsk{Resources: c.resources, Metadata: jsontext.Value(c.metadata)})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.metadata, d)
		}
	}
}

// TestAskSize: what is asked for has the number of lines that it changes, also if its diff is cut, or that it changes none.
func TestAskSize(t *testing.T) {
	for metadata, want := range map[string]string{
		`{"diff":"--- a\n+++ a\n@@ -1,2 +1 @@\n-b\n-c\n+d\n"}`:                                   "edit: a +1 -2",
		`{"diff":"--- a\n+++ a\n@@ -1,2 +1 @@\n-b\n\\ cut\n","additions":9000,"deletions":8000}`: "edit: a +9000 -8000",
		`{"diff":"Index: a\n=====\n--- a\n+++ a\n"}`:                                             "edit: a, changes no line",
		`{}`: "edit: a",
	} {
		a := session.PendingAsk{Action: "edit", Resources: []string{"a"}, Metadata: jsontext.Value(metadata)}
		if got := AskTitle(a); got != want {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
	a := session.PendingAsk{Metadata: jsontext.Value(`{"diff":"--- a\n+++ a\n"}`)}
	if got := AskDetails(a); len(got) != 0 {
		t.Errorf("the head of an empty diff is shown: %q", got)
	}
}
