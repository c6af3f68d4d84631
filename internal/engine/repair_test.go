package engine

import (
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestRepairStore repairs what earlier versions left: child sessions of deleted ones, and turns that a revert removed
// while they were open.
func TestRepairStore(t *testing.T) {
	for name, steps := range map[string]string{
		"text": `{"text": "half"}, {"gate": "g1"}`,
		"call": `{"call": {"name": "slow", "arguments": {"gate": "g1"}}}`,
		"ask":  `{"call": {"name": "edit", "arguments": {"path": "a", "token": "t1"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { repairOldStore(t, newCutOffWorld(t, steps)) })
		})
	}
}

func repairOldStore(t *testing.T, w *world) {
	ctx := t.Context()
	r := undo.Reverter{Journal: w.engine.journal, Changes: w.engine.changes}
	target := undo.Target{Before: true, Point: undo.Point{Messages: true, Files: true}}
	if _, err := r.StageRevert(ctx, "ses_a", target); err != nil {
		t.Fatal("stage the revert as earlier versions did:", err)
	}
	_, err := w.log.Append(ctx, "ses_a", store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, "ses_a")
		if err != nil {
			return nil, err
		}
		facts, err := undo.CommitFacts(tx, s)
		return eventlog.NewDrafts(facts...), err
	})
	if err != nil {
		t.Fatal("commit the revert:", err)
	}
	for _, child := range [][2]session.ID{{"ses_b", ""}, {"ses_c", "ses_b"}, {"ses_d", "ses_c"}} {
		_, err := w.engine.Commands.CreateSession(ctx, admit.CreateRequest{
			ID: child[0], ParentID: child[1], Location: session.Location{Directory: "/w"},
		})
		if err != nil {
			t.Fatal("create a session:", err)
		}
	}
	err = w.log.AppendDeleted(ctx, "ses_b", session.Session{ID: "ses_b"}, func(tx store.Tx) error {
		return tx.DeleteSession("ses_b")
	})
	if err != nil {
		t.Fatal("delete the parent alone:", err)
	}
	done, err := w.engine.RepairStore(ctx)
	if err != nil || len(done) != 2 {
		t.Errorf("repaired: %v: %v", done, err)
	}
	if again, err := w.engine.RepairStore(ctx); err != nil || len(again) > 0 {
		t.Errorf("repaired again: %v: %v", again, err)
	}
	w.close(t)
	report, err := check.Run(ctx, w.store)
	if err != nil || len(report.Violations) > 0 {
		t.Errorf("violations: %+v: %v", report.Violations, err)
	}
}
