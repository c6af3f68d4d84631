package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// weighed counts the rows that transactions store, and their bytes.
type weighed struct {
	store.Store
	rows, bytes int
}

func (s *weighed) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	return s.Store.Update(ctx, d, func(tx store.Tx) error { return f(weighing{tx, s}) })
}

type weighing struct {
	store.Tx
	s *weighed
}

func (w weighing) InsertEvent(r store.EventRow) (int64, error) {
	w.s.rows++
	w.s.bytes += len(r.Data) + len(r.Private)
	return w.Tx.InsertEvent(r)
}

func (w weighing) PutMessage(id session.ID, m session.Message, stored jsontext.Value, through int64) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.s.rows++
	w.s.bytes += len(b)
	return w.Tx.PutMessage(id, m, stored, through)
}

// long returns the events of an answer of so many pieces of 16 KiB: a text, arguments of a call, or reasoning.
func long(kind session.FragmentItem, pieces int) (said []llm.Event) {
	piece := strings.Repeat("0123456789abcdef", 1<<10)
	finish := llm.Finish{Reason: llm.FinishStop}
	switch kind {
	case session.FragmentText:
		said = append(said, llm.TextStart{ID: "t"})
		for range pieces {
			said = append(said, llm.TextDelta{ID: "t", Delta: piece})
		}
		return append(said, llm.TextEnd{ID: "t"}, finish)
	case session.FragmentReasoning:
		said = append(said, llm.ReasoningStart{ID: "t"})
		for range pieces {
			said = append(said, llm.ReasoningDelta{ID: "t", Delta: piece})
		}
		return append(said, llm.ReasoningEnd{ID: "t"}, finish)
	default:
		said = append(said, llm.ToolInputStart{ID: "c", Name: "echo"})
		for range pieces {
			said = append(said, llm.ToolInputDelta{ID: "c", Delta: piece})
		}
		return append(said, llm.ToolInputEnd{ID: "c"}, llm.ToolCallEvent{ID: "c", Name: "echo"}, finish)
	}
}

// A text is stored in checkpoints, in its end event, and in its message: three times, however long it is.
func TestLongAnswerCostsItsLength(t *testing.T) {
	kinds := []session.FragmentItem{session.FragmentText, session.FragmentReasoning, session.FragmentToolInput}
	for _, kind := range kinds {
		for _, pieces := range []int{4, 64, 256} {
			t.Run(fmt.Sprintf("%s/%d", kind, pieces), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, script.Script{})
					s := &weighed{Store: w.store}
					w.wrap = func(store.Store) store.Store { return s }
					w.start()
					w.models["test/one"].Client = &spoken{turns: [][]llm.Event{long(kind, pieces)}}
					begin(t, w, "hi")
					synctest.Wait()
					w.close(t)
					prove(t, w)
					if text := pieces << 14; s.bytes > 3*text+400*pieces+8<<10 || s.rows > pieces+30 {
						t.Errorf("%d bytes in %d rows for a text of %d bytes", s.bytes, s.rows, text)
					}
				})
			})
		}
	}
}

// begin creates a session and prompts it.
func begin(t *testing.T, w *world, prompt string) {
	t.Helper()
	if _, err := w.engine.Commands.CreateSession(
		t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
	); err != nil {
		t.Fatal("create the session:", err)
	}
	if _, err := w.engine.Commands.AdmitPrompt(
		t.Context(), admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: prompt}},
	); err != nil {
		t.Fatal("admit the prompt:", err)
	}
}

// An answer longer than the limit ends at the limit, between characters, and keeps the text so far.
func TestAnswersAreBounded(t *testing.T) {
	finish := llm.Finish{Reason: llm.FinishStop}
	for _, c := range []struct {
		name string
		said []llm.Event
		kept string
	}{
		{
			"it fits",
			[]llm.Event{
				llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "12345"}, llm.TextDelta{ID: "t", Delta: "67890"}, finish,
			},
			"1234567890",
		},
		{
			"one piece", []llm.Event{llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "123456789äöü"}, finish}, "123456789",
		},
		{
			"the last piece",
			[]llm.Event{
				llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "12345"}, llm.TextDelta{ID: "t", Delta: "67890!"}, finish,
			},
			"1234567890",
		},
		{"together", []llm.Event{
			llm.ReasoningStart{ID: "r"},
			llm.ReasoningDelta{ID: "r", Delta: "12345"},
			llm.ReasoningEnd{ID: "r"},
			llm.TextStart{ID: "t"},
			llm.TextDelta{ID: "t", Delta: "67890!"},
			finish,
		}, "1234567890"},
		{
			"arguments",
			[]llm.Event{
				llm.ToolInputStart{ID: "c", Name: "echo"}, llm.ToolInputDelta{ID: "c", Delta: `{"token":"abcdef"}`}, finish,
			},
			"",
		},
		{
			"arguments that come whole",
			[]llm.Event{llm.ToolCallEvent{ID: "c", Name: "echo", Input: []byte(`{"token":"abcdef"}`)}, finish},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, script.Script{})
				w.limits.AnswerBytes = 10
				w.start()
				model := &spoken{turns: [][]llm.Event{c.said}}
				w.models["test/one"].Client = model
				begin(t, w, "hi")
				synctest.Wait()
				w.close(t)
				prove(t, w)
				a := newestTurn(t, w)
				text := ""
				for _, item := range a.Content {
					switch item := item.(type) {
					case *session.Text:
						text += item.Text
					case *session.Reasoning:
						text += item.Text
					}
				}
				fits := c.name == "it fits"
				if text != c.kept || fits != (a.Error == nil) || (!fits && a.Error.Reason != session.ReasonLength) {
					t.Errorf("%q, %v", text, a.Error)
				}
				if model.n != 1 || len(w.effects) != 0 {
					t.Errorf("asked %d times, effects %v", model.n, w.effects)
				}
			})
		})
	}
}

func newestTurn(t *testing.T, w *world) (a *session.Assistant) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		m, _, err := store.NewestMessage(r, "ses_a", session.TypeAssistant)
		a, _ = m.(*session.Assistant)
		return err
	})
	if err != nil || a == nil {
		t.Fatal("no turn", err)
	}
	return a
}
