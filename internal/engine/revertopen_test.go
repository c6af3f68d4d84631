package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/task"
)

// TestRevertOfCutOffTurn: a revert in a process that has resumed nothing ends what an earlier process left open, so
// that the log is valid when the revert is committed and nothing of it is resumed later.
func TestRevertOfCutOffTurn(t *testing.T) {
	for _, c := range []struct{ name, steps string }{
		{"text", `{"text": "half"}, {"gate": "g1"}`},
		{"call", `{"call": {"name": "slow", "arguments": {"gate": "g1"}}}`},
		{"ask", `{"call": {"name": "edit", "arguments": {"path": "a", "token": "t1"}}}`},
		{
			"subagent",
			`{"call": {"name": "task", "arguments": {"description": "d", "prompt": "wait", "subagent_type": "helper"}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { revertCutOffTurn(t, c.steps) })
		})
	}
}

func revertCutOffTurn(t *testing.T, steps string) {
	w := newCutOffWorld(t, steps)
	target := undo.Target{Before: true, Point: undo.Point{Messages: true, Files: true}}
	if _, err := w.engine.Commands.StageRevert(t.Context(), "ses_a", target); err != nil {
		t.Fatal("revert:", err)
	}
	left, err := w.engine.Recover(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("would be resumed: %v: %v", left, err)
	}
	promptWith(t, w, "next")
	if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
		t.Error(err)
	}
	if asks := pendingAsks(t, w); len(asks) > 0 {
		t.Errorf("asks are still pending: %v", asks)
	}
	w.close(t)
	prove(t, w)
}

// TestInterruptOfResumedSubagent checks that an interrupt also ends a subagent that recovery resumed, although the call
// that waits for it is not resumed yet.
func TestInterruptOfResumedSubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCutOffWorld(t,
			`{"call": {"name": "task", "arguments": {"description": "d", "prompt": "wait", "subagent_type": "helper"}}}`)
		defer w.close(t)
		left, err := w.engine.Recover(t.Context())
		if err != nil || len(left) != 2 {
			t.Fatalf("unfinished are %v: %v", left, err)
		}
		if err := w.engine.Interrupt(t.Context(), "ses_a"); err != nil {
			t.Fatal("interrupt:", err)
		}
		synctest.Wait()
		for _, u := range left {
			if s := w.engine.Status(u.SessionID); s.Type != StatusIdle {
				t.Errorf("after the interrupt %s is %v", u.SessionID, s.Type)
			}
		}
	})
}

// newCutOffWorld returns a world after the death of a process in the first turn of a session.
func newCutOffWorld(t *testing.T, steps string) *world {
	t.Helper()
	s, err := script.Parse([]byte(`{"turns": [
		{"match": "work", "times": 1, "steps": [` + steps + `], "usage": {"input": 1, "output": 1}},
		{"match": "wait", "repeat": true, "steps": [{"gate": "g2"}]},
		{"match": "next", "repeat": true, "steps": [{"text": "done"}]}]}`))
	if err != nil {
		t.Fatal("parse the script:", err)
	}
	w := newWorld(t, s)
	helper := session.Agent{ID: "helper", Mode: session.ModeSubagent}
	w.agents["helper"] = helper
	if _, err := w.tools.Register(task.New([]session.Agent{helper})...); err != nil {
		t.Fatal("register the tool:", err)
	}
	_, err = w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
		ID: "ses_a", Location: session.Location{Directory: "/w"},
	})
	if err != nil {
		t.Fatal("create the session:", err)
	}
	promptWith(t, w, "work")
	time.Sleep(5 * time.Second) // text is checkpointed
	synctest.Wait()
	w.kill(false)
	return w
}

func promptWith(t *testing.T, w *world, text string) {
	t.Helper()
	_, err := w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
		SessionID: "ses_a", Prompt: session.Prompt{Text: text},
	})
	if err != nil {
		t.Fatal("prompt the session:", err)
	}
}
