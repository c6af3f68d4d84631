package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/task"
)

// newTaskWorld returns a world whose model calls n subagents at once, each of which is prompted with "work". work are
// the turns that answer them.
func newTaskWorld(t *testing.T, n int, limit time.Duration, work string) *world {
	t.Helper()
	return newWorldOfTasks(t, n, limit, work, false)
}

// newWorldOfTasks is newTaskWorld with tasks that may work in the background.
func newWorldOfTasks(t *testing.T, n int, limit time.Duration, work string, background bool) *world {
	t.Helper()
	w := buildWorldOfTasks(t, n, Limits{TaskTime: limit}, work, background)
	promptForTasks(t, w)
	return w
}

// buildWorldOfTasks is newWorldOfTasks without a session.
func buildWorldOfTasks(t *testing.T, n int, limits Limits, work string, background bool) *world {
	t.Helper()
	var calls []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`{"call": {"id": "c%d", "name": "task", "arguments":
			{"description": "part %d", "prompt": "work %d", "subagent_type": "helper", "background": %t}}}`,
			i, i, i, background))
	}
	s, err := script.Parse([]byte(`{"turns": [
		{"match": "all", "steps": [` + strings.Join(calls, ",") + `]},
		` + work + `,
		{"match": "all", "repeat": true, "steps": [{"text": "All done."}]}]}`))
	if err != nil {
		t.Fatal("parse the script:", err)
	}
	w := newWorld(t, s)
	w.limits = limits
	w.start()
	helper := session.Agent{ID: "helper", Mode: session.ModeSubagent}
	w.agents["helper"] = helper
	if _, err := w.tools.Register(task.New([]session.Agent{helper})...); err != nil {
		t.Fatal("register the tool:", err)
	}
	return w
}

// promptForTasks creates the session and gives it the prompt that calls the subagents.
func promptForTasks(t *testing.T, w *world) {
	t.Helper()
	_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
		ID: "ses_a", Location: session.Location{Directory: "/w"},
	})
	if err == nil {
		_, err = w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
			SessionID: "ses_a", Prompt: session.Prompt{Text: "all"},
		})
	}
	if err != nil {
		t.Fatal("prompt the session:", err)
	}
}

// countTasks returns how many calls of the session ended in each way.
func countTasks(t *testing.T, w *world) map[session.ToolStatus]int {
	t.Helper()
	counts := map[session.ToolStatus]int{}
	for _, m := range messagesOf(t, w) {
		if a, ok := m.(*session.Assistant); ok {
			for _, c := range a.Tools() {
				counts[c.State.Status]++
			}
		}
	}
	return counts
}

// TestManyTasks: of a hundred subagents that are called at once, each ends, and the caller goes on.
func TestManyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t, 100, time.Minute, `{"match": "work", "repeat": true, "steps": [{"text": "done"}]}`)
		synctest.Wait()
		if got := countTasks(t, w); got[session.ToolCompleted] != 100 || len(got) != 1 {
			t.Errorf("calls by their end: %v", got)
		}
		if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
			t.Error(err)
		}
		w.close(t)
	})
}

// TestTaskPromptNamesItsAgent checks that the prompt of a subagent has its agent, whatever the session selects later.
func TestTaskPromptNamesItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t, 1, time.Minute, `{"match": "work", "steps": [{"text": "done"}]}`)
		synctest.Wait()
		err := w.store.View(t.Context(), func(r store.Reader) error {
			children, err := store.ReadSessions(r, store.SessionQuery{ParentID: new(session.ID("ses_a"))})
			if err != nil || len(children) != 1 {
				t.Fatal(children, err)
			}
			ms, err := store.ReadMessages(r, children[0].ID, store.MessageQuery{After: -1, Type: session.TypeUser})
			if err != nil || len(ms) != 1 || ms[0].(*session.User).Agent != "helper" {
				t.Errorf("the prompts are %+v: %v", ms, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		w.close(t)
	})
}

// TestTasksBeginInOrder: the children of a step's calls are created in the order of the calls.
func TestTasksBeginInOrder(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			const n = 8
			w := newTaskWorld(t, n, time.Hour, `{"match": "work", "repeat": true, "steps": [{"text": "done"}]}`)
			if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
				t.Fatal(err)
			}
			var last int64
			for i, c := range childrenOf(t, w) {
				if c < last {
					t.Fatalf("child %d was created before child %d", i, i-1)
				}
				last = c
			}
			w.close(t)
		})
	}
}

// childrenOf returns the positions in the log at which the children of the calls were created, in the order of the
// calls.
func childrenOf(t *testing.T, w *world) (positions []int64) {
	t.Helper()
	for _, m := range messagesOf(t, w) {
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		for _, c := range a.Tools() {
			err := w.store.View(t.Context(), func(r store.Reader) error {
				rows, err := r.Events(session.TaskID(c.PartID), -1, 1)
				if err == nil {
					positions = append(positions, rows[0].Position)
				}
				return err
			})
			if err != nil {
				t.Fatal("read the log of a child:", err)
			}
		}
	}
	return positions
}

// TestManyTasksWithFaults: while the provider fails in all its ways, each of 100 subagents ends once, only those fail
// that are not tried again, and the spend has every request that the provider answered with its usage.
func TestManyTasksWithFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t, 100, time.Hour, `
			{"match": "work", "times": 30, "steps": [
				{"fault": {"kind": "status", "status": 529, "class": "overloaded"}}]},
			{"match": "work", "times": 20, "steps": [{"fault": {"kind": "reset"}}]},
			{"match": "work", "times": 20, "steps": [{"fault": {"kind": "end"}}]},
			{"match": "work", "times": 10, "steps": [{"text": "par"}, {"fault": {"kind": "malformed"}}]},
			{"match": "work", "times": 7, "steps": [{"fault": {"kind": "status", "status": 401, "class": "auth"}}]},
			{"match": "work", "repeat": true, "steps": [{"text": "done"}], "usage": {"input": 10, "output": 1}}`)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
			t.Error(err)
		}
		if got := countTasks(t, w); got[session.ToolCompleted] != 93 || got[session.ToolError] != 7 || len(got) != 2 {
			t.Errorf("calls by their end: %v", got)
		}
		turns := 0
		err := w.store.View(t.Context(), func(r store.Reader) error {
			spent, err := r.Spent("", 0)
			for _, s := range spent {
				if s.Tokens.Input == 10 && s.Tokens.Output == 1 {
					turns++
				}
			}
			return err
		})
		if err != nil || turns != 93 {
			t.Errorf("the spend has %d answers of subagents, want 93: %v", turns, err)
		}
		const faults = 30 + 20 + 20 + 10 + 7
		if got := w.player.CountRequests(); got != 2+93+faults {
			t.Errorf("the model was asked %d times, want %d", got, 2+93+faults)
		}
		if active := w.engine.Active(); len(active) > 0 {
			t.Errorf("still at work: %v", active)
		}
		w.close(t)
	})
}

// TestTasksInBackground: each task in the background is reported once, and the session is idle when the caller has
// answered the last report. One beyond the limit of jobs is refused, and its subagent gets no prompt.
func TestTasksInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOfTasks(t, 9, time.Hour, `
			{"match": "<task", "repeat": true, "steps": [{"text": "Thanks."}]},
			{"match": "work", "repeat": true, "steps": [{"gate": "g1"}, {"text": "done"}]}`, true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := countTasks(t, w); got[session.ToolCompleted] != 8 || got[session.ToolError] != 1 || len(got) != 2 {
			t.Errorf("calls by their end: %v", got)
		}
		idle := make(chan error, 1)
		go func() { idle <- w.engine.Wait(t.Context(), "ses_a") }()
		synctest.Wait()
		if len(idle) > 0 {
			t.Error("the session is idle while its tasks work")
		}
		for range 8 {
			w.player.Gates["g1"] <- struct{}{}
		}
		if err := <-idle; err != nil {
			t.Error(err)
		}
		reports, prompts := map[string]int{}, 0
		err := w.store.View(t.Context(), func(r store.Reader) error {
			ms, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1, Type: session.TypeUser})
			for _, m := range ms {
				if u := m.(*session.User); strings.HasPrefix(u.Text, "<task") {
					reports[u.Text]++
				}
			}
			if err != nil {
				return err
			}
			children, err := store.ReadSessions(r, store.SessionQuery{ParentID: new(session.ID("ses_a"))})
			for _, s := range children {
				ins, ierr := store.PendingInputs(r, s.ID, "", 0)
				prompts, err = prompts+len(ins), errors.Join(err, ierr)
			}
			return err
		})
		if err != nil || len(reports) != 8 || prompts != 0 {
			t.Errorf("%d reports, %d pending prompts of subagents: %v", len(reports), prompts, err)
		}
		for text, n := range reports {
			if n != 1 {
				t.Errorf("%d times: %s", n, text)
			}
		}
		w.close(t)
	})
}

// TestRevertEndsTasks: a revert ends the tasks in the background that it takes back, and stays staged.
func TestRevertEndsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOfTasks(t, 2, time.Hour, `
			{"match": "<task", "repeat": true, "steps": [{"text": "Thanks."}]},
			{"match": "work", "repeat": true, "steps": [{"gate": "g1"}, {"text": "done"}]}`, true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := w.engine.Commands.StageRevert(t.Context(), "ses_a", undo.Target{Before: true}); err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil || s.Revert == nil {
			t.Fatalf("the revert is not staged any more: %v", err)
		}
		for _, j := range s.Jobs {
			if j.Status != session.JobCancelled {
				t.Errorf("the job %s is %s", j.ID, j.Status)
			}
		}
		if len(s.Jobs) != 2 {
			t.Errorf("%d jobs", len(s.Jobs))
		}
		w.close(t)
	})
}

// TestDeleteWhileTasksBegin: a session that is deleted while it creates child sessions leaves none behind.
func TestDeleteWhileTasksBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := buildWorldOfTasks(t, 12, Limits{CallTools: 1}, // the second call begins when the first child is deleted
			`{"match": "work", "repeat": true, "steps": [{"gate": "g1"}, {"text": "done"}]}`, false)
		promptForTasks(t, w)
		synctest.Wait()
		if err := w.engine.Commands.DeleteSession(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		err := w.store.View(t.Context(), func(r store.Reader) error {
			left, err := store.ReadSessions(r, store.SessionQuery{Archived: true})
			for _, s := range left {
				t.Errorf("the session %s with the parent %s is left", s.ID, s.ParentID)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.close(t)
	})
}

// TestTaskTime: a subagent that takes too long is stopped, and the caller learns how to go on.
func TestTaskTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t, 1, 10*time.Second, `{"match": "work", "steps": [{"gate": "g1"}, {"text": "late"}]}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, m := range messagesOf(t, w) {
			a, ok := m.(*session.Assistant)
			if !ok {
				continue
			}
			for _, c := range a.Tools() {
				if c.State.Error == nil || !strings.Contains(c.State.Error.Message, "longer than 10s") ||
					!strings.Contains(c.State.Error.Message, "task_id ses_") {
					t.Errorf("the call ended with %+v", c.State.Error)
				}
			}
		}
		if active := w.engine.Active(); len(active) > 0 {
			t.Errorf("still at work: %v", active)
		}
		w.close(t)
	})
}
