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
