package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A compaction hides a prompt and the work on it from the model. What the prompt asks for, and what was done for it,
// still counts until the next prompt.
func TestHiddenPrompt(t *testing.T) {
	head := func(seq int64) session.Head { return session.Head{Seq: seq} }
	turn := func(seq int64, finish string) *session.Assistant {
		a := &session.Assistant{Head: head(seq), Finish: finish, Content: []session.Content{&session.Text{Text: `{"n":"x"}`}}}
		a.Time.Completed = 1
		return a
	}
	format := &session.Format{Schema: []byte(`{"type":"object","properties":{"n":{"type":"number"}}}`), Retries: 5}
	h := New()
	prompt := &session.User{Head: head(4), System: "Pirate.", Format: format}
	hidden := Hidden{Prompt: prompt, Newest: turn(5, session.FinishUnformed)}
	h.Restart(store.VisibleRange{Compaction: 7, Keep: 7, Baseline: -1}, 0, hidden)
	h.ExtendMessages([]session.Message{&session.Compaction{Head: head(7), Kept: session.Kept{Turns: 1}}})
	if !h.NeedsTurn() {
		t.Error("the work that the compaction hides is not continued")
	}
	h.ExtendMessages([]session.Message{turn(8, session.FinishUnformed)})
	if n := h.CountTurns(); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
	o, err := h.FindOutputSchema()
	if err != nil || o.missed != 1 || h.promptSystem() != "Pirate." || h.PromptSeq() != 4 || h.AnswerSeq() != 8 {
		t.Errorf("%v %+v %q, prompt %d, answer %d", err, o, h.promptSystem(), h.PromptSeq(), h.AnswerSeq())
	}
	in := &Input{Session: &session.Session{}, BaselineSeq: -1, Model: &scope.Model{}, History: h}
	lowered := in.lowerMessages()
	last, _ := lowered[len(lowered)-1].Parts[0].(llm.Text)
	if !strings.Contains(last.Text, "must be a number") {
		t.Errorf("the model reads %q of its answer, not what is wrong with it", last.Text)
	}
	h.ExtendMessages([]session.Message{&session.User{Head: head(9)}, turn(10, "stop")})
	if o, err = h.FindOutputSchema(); err != nil || o != nil || h.promptSystem() != "" || h.CountTurns() != 1 {
		t.Errorf("after another prompt: %v %v %q, %d turns", err, o, h.promptSystem(), h.CountTurns())
	}
	if d := cmp.Diff(lowered, in.lowerMessages()[:len(lowered)]); d != "" {
		t.Error("another prompt changes what was sent before:", d)
	}
}
