package admin

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// The transcript reports a prefix that changed by itself, and not one that the user changed.
func TestTranscriptCacheNote(t *testing.T) {
	for want, prefix := range map[int]*session.CachePrefix{
		1: {Changed: "the tool zoom was added"},
		0: {Changed: "the tool zoom was added", Cause: session.CauseAgent},
	} {
		a, b := testInvocation()
		(&transcript{out: a.Out, marks: a.Marks}).print(
			&session.Session{},
			[]session.Message{&session.Assistant{Prefix: prefix}},
		)
		if n := strings.Count(b.String(),
			"so the whole conversation is charged at full price: the tool zoom was added\n"); n != want {
			t.Errorf("%+v is reported %d times, want %d, in\n%s", prefix, n, want, b)
		}
	}
}

// testInvocation returns an invocation that writes both streams into one buffer, so that their order shows.
func testInvocation() (*cli.Invocation, *bytes.Buffer) {
	var b bytes.Buffer
	env := func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }
	return cli.NewInvocation(nil, cli.Process{Stdout: &b, Stderr: &b, Env: env}), &b
}

func TestTranscriptCacheHit(t *testing.T) {
	a, b := testInvocation()
	tokens := session.Tokens{Input: 1, Cache: session.CacheUsage{Read: 3}}
	(&transcript{out: a.Out, marks: a.Marks}).print(&session.Session{Tokens: tokens}, nil)
	if want := "75% of the input from the cache"; !strings.Contains(b.String(), want) {
		t.Errorf("got %q, want %q in it", b, want)
	}
}

// An answer of reasoning alone is not shown as nothing.
func TestTranscriptReasoningOnly(t *testing.T) {
	reasoning := &session.Reasoning{Text: "hm"}
	text := &session.Text{Text: "yes"}
	for _, c := range []struct {
		content  []session.Content
		thinking bool
		want     bool
	}{
		{[]session.Content{reasoning}, false, true},
		{[]session.Content{reasoning}, true, false},
		{[]session.Content{reasoning, text}, false, false},
	} {
		a, b := testInvocation()
		m := &session.Assistant{Content: c.content, Finish: "stop"}
		m.Time.Completed = 1
		(&transcript{out: a.Out, marks: a.Marks, thinking: c.thinking}).print(&session.Session{}, []session.Message{m})
		if got := strings.Contains(b.String(), "--thinking shows its reasoning"); got != c.want {
			t.Errorf("%+v: %q", c, b)
		}
	}
}
