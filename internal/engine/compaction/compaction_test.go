package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// parseHistory returns messages from their first letters: u is a prompt, a is a turn, s is a synthetic message, c is a
// compaction.
func parseHistory(kinds string) (ms []session.Message) {
	for i, kind := range kinds {
		head := session.Head{ID: session.MessageID(fmt.Sprint(i)), Seq: int64(i + 1)}
		switch kind {
		case 'u':
			head.Type = session.TypeUser
			ms = append(ms, &session.User{Head: head, Text: strings.Repeat("prompt ", i+1)})
		case 'a':
			head.Type = session.TypeAssistant
			ms = append(ms, &session.Assistant{Head: head})
		case 's':
			head.Type = session.TypeSynthetic
			ms = append(ms, &session.Synthetic{Head: head})
		case 'c':
			head.Type = session.TypeCompaction
			ms = append(ms, &session.Compaction{Head: head, Summary: "earlier"})
		}
	}
	return ms
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name    string
		history string
		working bool
		tokens  int64 // each message has 10
		turns   int64
		head    int // messages
		prompt  string
	}{
		{"nothing", "", false, 50, -1, 0, ""},
		{"everything fits, so everything is summarised", "uaua", false, 100, -1, 4, ""},
		{"whole turns from the newest on", "uauauau", false, 50, -1, 2, ""},
		{"a turn is split after its prompt", "uauaaaa", false, 30, -1, 4, ""},
		{"no room at all", "uauaua", false, 5, -1, 6, ""},
		{"one turn at most", "uauaua", false, 100, 1, 4, ""},
		{"no turn", "uaua", false, 100, 0, 4, ""},
		{"unanswered prompts stay", "uauauu", true, 5, -1, 4, ""},
		{"the prompt at work stays", "uauaaa", true, 15, -1, 5, "2"},
		{"what follows the newest turn stays", "uaus", true, 0, -1, 2, ""},
		{"only unanswered prompts", "uu", true, 100, -1, 0, ""},
		{"after a compaction", "cuaua", false, 25, -1, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice := Select(parseHistory(c.history), c.working, Limits{
				Tokens: c.tokens, Turns: c.turns, Size: func(session.Message) int64 { return 10 },
			})
			prompt := ""
			if choice.Prompt != nil {
				prompt = string(choice.Prompt.ID)
			}
			if len(choice.Head) != c.head || prompt != c.prompt {
				t.Errorf("%d messages are summarised, and the prompt %q stays; want %d, %q",
					len(choice.Head), prompt, c.head, c.prompt)
			}
			if (choice.Previous != nil) != strings.HasPrefix(c.history, "c") {
				t.Error("the earlier compaction is not the one of the history")
			}
		})
	}
}

func TestCheckSummary(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for _, c := range []struct {
		name   string
		answer Answer
		ok     bool
	}{
		{"a summary", Answer{Text: "## Goal\n- x", Finish: llm.FinishStop}, true},
		{"empty", Answer{Text: " \n", Finish: llm.FinishStop}, false},
		{"a tool call", Answer{Text: "x", ToolCall: true, Finish: llm.FinishToolCalls}, false},
		{"refused", Answer{Text: "I cannot", Finish: llm.FinishContentFilter}, false},
		{"cut", Answer{Text: "## Goal", Finish: llm.FinishLength}, false},
		{"larger than what it replaces", Answer{Text: long, Finish: llm.FinishStop}, false},
	} {
		if err := CheckSummary(c.answer, 150, 0); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A summary has headings; what a model says instead of one has none.
func TestCheckOutline(t *testing.T) {
	for text, ok := range map[string]bool{
		"## Goal\n- x": true, "Notes:\n\n# Objectif\n- y": true, "I'm sorry, but I can't help with that.": false,
		"KEEP": false, "#1 is done, see #2": false, "": false,
	} {
		if err := CheckOutline(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Long conversations are summarised piece by piece; nothing of an entry is lost at a border, and the number of pieces
// is bounded.
func TestSplitTranscript(t *testing.T) {
	var entries []string
	for n := range 100 {
		entries = append(entries, fmt.Sprintf("entry %d ä", n))
	}
	pieces := SplitTranscript(entries, 400)
	all := strings.Join(pieces, "\n\n")
	for _, e := range entries {
		if !strings.Contains(all, e) {
			t.Errorf("%q is lost", e)
		}
	}
	for _, p := range pieces {
		if len(p) > 400 {
			t.Errorf("a piece has %d bytes", len(p))
		}
	}
	long := strings.Repeat("ä", 500) + "END"
	pieces = SplitTranscript([]string{"first", long, "last"}, 400)
	if all := strings.Join(pieces, ""); strings.Count(all, "ä") != 500 || !strings.Contains(all, "END") {
		t.Errorf("of a long entry only %d characters are in the pieces", strings.Count(all, "ä"))
	}
	if pieces = SplitTranscript(entries, 30); len(pieces) > 8 || !strings.Contains(pieces[1], "left out") {
		t.Errorf("%d pieces, %q", len(pieces), pieces)
	}
}

func TestRecord(t *testing.T) {
	ms := parseHistory("uauauaua")
	call := &session.Tool{Name: "edit", State: session.ToolState{
		Status: session.ToolCompleted, Structured: []byte(`{"seen":{"/a":"h2","/b":""}}`),
	}}
	ms[1].(*session.Assistant).Content = []session.Content{call}
	c := &Choice{Head: ms, Previous: &session.Compaction{Record: &session.Record{
		Requests: []string{
			"the first",
		}, Files: []session.FileRecord{{Path: "/a", Hash: "h1"}, {Path: "/c", Hash: "h3"}},
	}}}
	r := NewRecord(c, []session.Todo{{Content: "open"}, {Content: "done", Status: session.TodoCompleted}}, nil, 100)
	size := 0
	for _, text := range r.Requests {
		size += len(text)
	}
	if r.Requests[0] != "the first" || r.Omitted == 0 || size > 100 || len(r.Todos) != 1 {
		t.Errorf("%+v has %d bytes of prompts", r, size)
	}
	if got := fmt.Sprint(r.Files); got != "[{/c h3} {/a h2} {/b }]" {
		t.Errorf("files %s", got)
	}
}
