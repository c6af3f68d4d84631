package engine

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
)

// The todo list changes with the settlement of the call that sets it, alone in its turn or not. The tool reads the
// current list, and the log agrees with it.
func TestTodos(t *testing.T) {
	const first, second = `{"content": "first", "status": "in_progress", "priority": "high"}`, `{"content": "second", "status": "pending"}`
	for name, tt := range map[string]struct {
		steps string
		want  []session.Todo
	}{
		"one call": {
			`{"call": {"id": "a", "name": "todowrite", "arguments": {"todos": [` + first + `, ` + second + `]}}}`,
			[]session.Todo{
				{Content: "first", Status: "in_progress", Priority: "high"},
				{Content: "second", Status: "pending", Priority: "medium"},
			},
		},
		"with another": {
			`{"call": {"id": "a", "name": "todowrite", "arguments": {"todos": [` + first + `]}}}, {"call": {"id": "b", "name": "write", "arguments": {"token": "t1"}}}`,
			[]session.Todo{{Content: "first", Status: "in_progress", Priority: "high"}},
		},
		"refused": {
			`{"call": {"id": "a", "name": "todowrite", "arguments": {"todos": [{"content": "x", "status": "odd"}]}}}`,
			nil,
		},
		"cleared": {`{"call": {"id": "a", "name": "todowrite", "arguments": {"todos": []}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := script.Parse([]byte(`{"turns": [{"steps": [` + tt.steps + `]},
					{"steps": [{"call": {"id": "r", "name": "todoread", "arguments": {}}}]}, {"repeat": true, "steps": [{"text": "ok"}]}]}`))
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, s)
				if _, err := w.tools.Register(dialog.New()...); err != nil {
					t.Fatal(err)
				}
				startWork(t, w)
				synctest.Wait()
				if diff := cmp.Diff(tt.want, todosOf(t, w)); diff != "" {
					t.Error(diff)
				}
				if n := countTodos(t, w); n != map[bool]int{true: 0, false: 1}[name == "refused"] {
					t.Errorf("the list was set %d times", n)
				}
				w.close(t)
				prove(t, w)
			})
		})
	}
}

// startWork creates the session ses_a and prompts it.
func startWork(t *testing.T, w *world) {
	t.Helper()
	create := admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}
	if _, err := w.engine.Commands.CreateSession(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	prompt := admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}}
	if _, err := w.engine.Commands.AdmitPrompt(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
}

func todosOf(t *testing.T, w *world) (todos []session.Todo) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		s, _, err := r.Session("ses_a")
		todos = s.Todos
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return todos
}

func countTodos(t *testing.T, w *world) (n int) {
	t.Helper()
	for _, row := range allEvents(t, w.store) {
		if row.Kind == session.KindTodosSet {
			n++
		}
	}
	return n
}
