package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Outputs are hidden beyond the newest 40,000 tokens and before the two newest prompts, if that frees 20,000 tokens.
func TestListPrunable(t *testing.T) {
	call := func(id, name string, status session.ToolStatus, pruned int64) *session.Tool {
		c := &session.Tool{ID: id, Name: name, Time: session.ToolTime{Pruned: pruned}}
		c.State.Status = status
		return c
	}
	done := func(id string) *session.Tool { return call(id, "read", session.ToolCompleted, 0) }
	user := &session.User{}
	turn := func(id string, calls ...*session.Tool) *session.Assistant {
		a := &session.Assistant{Head: session.Head{ID: session.MessageID(id)}}
		for _, c := range calls {
			a.Content = append(a.Content, c)
		}
		return a
	}
	old := func(calls ...*session.Tool) []session.Message {
		return []session.Message{turn("t", calls...), user, user}
	}
	tests := []struct {
		name     string
		messages []session.Message
		size     int64 // of each output
		want     string
		freed    int64
	}{
		{
			name: "protected tokens stay", messages: old(done("a"), done("b"), done("c")), size: 20_000,
			want: "t:a", freed: 20_000,
		},
		{name: "within the protected tokens", messages: old(done("a"), done("b")), size: 20_000},
		{name: "too little is freed", messages: old(done("a"), done("b"), done("c")), size: 19_999},
		{
			name: "newest prompts are protected", size: 50_000,
			messages: []session.Message{turn("t", done("a")), user, turn("u", done("b")), user, turn("v", done("c"))},
			want:     "t:a", freed: 50_000,
		},
		{
			name: "newest turn first", size: 30_000,
			messages: []session.Message{turn("t", done("a")), turn("u", done("b"), done("c")), user, user},
			want:     "u:b t:a", freed: 60_000,
		},
		{
			name: "what does not count", size: 50_000,
			messages: old(
				call("a", "skill", session.ToolCompleted, 0), call("b", "read", session.ToolError, 0),
				call("c", "read", session.ToolCompleted, 1),
			),
		},
	}
	for _, c := range tests {
		turns, freed := ListPrunable(c.messages, func(*session.Tool) int64 { return c.size })
		var got []string
		for _, turn := range turns {
			for _, call := range turn.Calls {
				got = append(got, fmt.Sprintf("%s:%s", turn.MessageID, call.ID))
			}
		}
		if strings.Join(got, " ") != c.want || freed != c.freed {
			t.Errorf("%s: hides %v and frees %d, want %q and %d", c.name, got, freed, c.want, c.freed)
		}
	}
}

// The writer reads the task first, then what is quoted, each part enclosed, and last that it must not answer it.
func TestRenderPrompt(t *testing.T) {
	record := &session.Record{Requests: []string{"fix it"}}
	first := SummaryQuestion{Record: record, Piece: "PIECE"}
	tests := []struct {
		name     string
		question SummaryQuestion
		want     []string // in this order
		without  []string
	}{
		{
			name: "first", question: first,
			want:    []string{"Write notes", "## Goal", "<facts>", "fix it", "<conversation>", "PIECE", "Do not continue"},
			without: []string{"earlier-notes", "The user asks"},
		},
		{
			name: "next", question: SummaryQuestion{Previous: "EARLIER", Piece: "PIECE", Instructions: "be brief"},
			want: []string{
				"Continue the earlier notes", "## Goal", "be brief", "<earlier-notes>", "EARLIER", "PIECE", "Do not continue",
			},
			without: []string{"<facts>"},
		},
	}
	for _, c := range tests {
		rest := c.question.RenderPrompt()
		for _, without := range c.without {
			if strings.Contains(rest, without) {
				t.Errorf("%s: %q is in the question", c.name, without)
			}
		}
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%s: %q is missing in, or not in order after, %q", c.name, want, rest)
			}
			rest = after
		}
	}
}

// The newest history that stays has a quarter of the room, within bounds, and less where that was not enough before.
func TestKeepLimits(t *testing.T) {
	tests := []struct {
		name     string
		window   int64
		reserved int64
		tokens   int64 // of the request
		keep     int64 // configured
		rejected bool
		stalled  int
		want     int64
	}{
		{name: "a quarter of the room", window: 64_000, want: 8000},
		{name: "at most", window: 1_000_000, want: 15_000},
		{name: "at least", window: 4000, want: 2000},
		{name: "unknown window", want: 8000},
		{name: "configured", window: 64_000, keep: 100, want: 100},
		{name: "rejected", window: 64_000, tokens: 20_000, rejected: true, want: 5000},
		{name: "rejected with an unknown window", tokens: 12_000, rejected: true, want: 3000},
		{name: "without progress", window: 64_000, tokens: 16_000, stalled: 1, want: 4000},
	}
	for _, c := range tests {
		q := &FitRequest{
			Session: &session.Session{Stalled: c.stalled}, Tokens: c.tokens, Rejected: c.rejected,
			Scope: &scope.Scope{Compaction: scope.CompactionSettings{Keep: c.keep, Reserved: c.reserved}},
			Model: &scope.Model{Window: scope.Limits{Context: c.window}},
		}
		if got := q.keepLimits().Tokens; got != c.want {
			t.Errorf("%s: keeps %d tokens, want %d", c.name, got, c.want)
		}
	}
}

// A request for a title has the instruction and the prompt, whose texts are cut together; after a rejection it has no
// images.
func TestTitleRequest(t *testing.T) {
	q := TitleRequest{
		SessionID: "ses_a", System: "You write titles.",
		Model: &scope.Model{APIName: "small", System: "Be kind.", Images: true},
		Prompt: &session.User{Text: strings.Repeat("a", MaxTitlePrompt-2), Files: []session.File{
			{URI: "data:image/png;base64,iVBORw0KGgo=", Mime: "image/png", Name: "a.png"},
			{URI: "data:text/plain;base64,YmJi", Mime: "text/plain", Name: "b.txt"},
		}},
	}
	k := &modelTask{sessionID: q.SessionID, model: q.Model, system: q.System}
	req := k.buildRequest(q.listMessages()...)
	if diff := cmp.Diff([]string{"You write titles.\n\nBe kind."}, req.System); diff != "" || req.Model != "small" {
		t.Errorf("system texts (-want +got):\n%s", diff)
	}
	if got := req.Messages[0].Parts[0]; !cmp.Equal(got, llm.Part(llm.Text{Text: TitleInstruction})) {
		t.Errorf("the first message is %v", got)
	}
	texts, images := 0, 0
	for _, m := range req.Messages[1:] {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				texts += len(p.Text)
			case llm.Media:
				images++
			}
		}
	}
	if texts != MaxTitlePrompt || images != 1 {
		t.Errorf("%d bytes of texts and %d images, want %d and 1", texts, images, MaxTitlePrompt)
	}
	for class, want := range map[llm.Class]bool{llm.InvalidRequest: true, llm.Overflow: true, llm.Overloaded: false} {
		reduced, ok := q.withoutMedia(&llm.Error{Class: class})
		if ok != want || history.HasContent(reduced.listMessages(), session.ContentImages) == want {
			t.Errorf("after %v: reduced %v", class, ok)
		}
		if again, ok := reduced.withoutMedia(&llm.Error{Class: class}); ok {
			t.Errorf("after %v: reduced twice: %v", class, again.Excluded)
		}
	}
	if len(q.Excluded) != 0 {
		t.Errorf("the request itself was changed: %v", q.Excluded)
	}
}

// A title is the first line of the answer, without what the model thought.
func TestTitleFromAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		"\n  Fix  the\ttests \nmore":       "Fix the tests",
		"<think>hm\nhm</think>\nFix tests": "Fix tests",
		"":                                 "",
		strings.Repeat("é", 101):           strings.Repeat("é", 97) + "...",
		strings.Repeat("é", 100):           strings.Repeat("é", 100),
	} {
		if got := fromAnswer(answer); got != want {
			t.Errorf("%q becomes %q, want %q", answer, got, want)
		}
	}
}
