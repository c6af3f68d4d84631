package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

// TestHitIsMarked: the search brings the line with the hit to the screen and marks it there, until the selection ends.
func TestHitIsMarked(t *testing.T) {
	th, err := style.New("dark", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	m := transcript.New(th)
	m.SetSize(40, 6)
	text := strings.Repeat("filler\n\n", 30) + "the Needle and a needle\n\n" + strings.Repeat("filler\n\n", 30)
	m.SetMessages([]session.Message{&session.Assistant{Content: []session.Content{&session.Text{Text: text}}}}, nil)
	if !m.SelectHit("needle", true) {
		t.Fatal("not found")
	}
	got := m.View()
	for _, want := range []string{th.Selected.Render("Needle"), th.Selected.Render("needle")} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not marked in\n%q", want, got)
		}
	}
	m.EndSelection()
	if got := m.View(); strings.Contains(got, th.Selected.Render("Needle")) {
		t.Errorf("still marked:\n%q", got)
	}
}

// TestLongPromptFolds: of a long prompt the beginning is shown, until it is opened.
func TestLongPromptFolds(t *testing.T) {
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	m := newTestModel(t, 60, 40)
	m.SetMessages([]session.Message{&session.User{Text: long.String()}}, nil)
	got := view(m)
	if !strings.HasSuffix(got, "\n  line 9\n  … 1,990 more lines (alt+enter opens)") {
		t.Errorf("closed:\n%s", got)
	}
	m.Toggle()
	if got := view(m); !strings.HasSuffix(got, "line 1999") {
		t.Errorf("open:\n%s", got)
	}
	// A long line is folded as well; a prompt that is hardly longer is not.
	m.SetMessages([]session.Message{&session.User{Text: strings.Repeat("word ", 100_000)}}, nil)
	if got := strings.Count(view(m), "\n"); got > 12 {
		t.Errorf("a long line has %d lines", got)
	}
	m.SetMessages([]session.Message{&session.User{Text: strings.Repeat("x\n", 10) + "last"}}, nil)
	if got := view(m); !strings.HasSuffix(got, "last") {
		t.Errorf("eleven lines:\n%s", got)
	}
}

// TestSummaryOpens: the summary that the model reads after a compaction can be read.
func TestSummaryOpens(t *testing.T) {
	m := newTestModel(t, 70, 20)
	f := &feeder{model: m}
	f.show(
		&session.Prompted{MessageID: "msg_u", Prompt: session.Prompt{Text: "go on"}},
		&session.CompactionEnded{MessageID: "msg_c", Text: "The goal is **foo**."},
	)
	if got := view(m); !strings.Contains(got, "(alt+enter opens it)") || strings.Contains(got, "The goal") {
		t.Errorf("closed:\n%s", got)
	}
	m.Toggle()
	if got := view(m); !strings.Contains(got, "The goal is foo.") {
		t.Errorf("open:\n%s", got)
	}
}

// TestFirstSectionFillsBox: a selected section at the beginning has the next ones below it, as far as there is room.
func TestFirstSectionFillsBox(t *testing.T) {
	m := newTestModel(t, 40, 12)
	var messages []session.Message
	for i := range 30 {
		id := session.MessageID(fmt.Sprintf("msg_%d", i))
		messages = append(messages, &session.User{Head: session.Head{ID: id}, Text: fmt.Sprintf("prompt %d", i)})
	}
	m.SetMessages(messages, nil)
	for _, id := range []session.MessageID{"msg_1", "msg_0"} {
		if !m.SelectItem(id, "", "") {
			t.Fatalf("%s is not found", id)
		}
		if got := view(m); !strings.HasPrefix(got, "> prompt 0\n") || !strings.HasSuffix(got, "> prompt 5") {
			t.Errorf("%s:\n%s", id, got)
		}
	}
}
