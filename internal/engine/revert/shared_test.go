package revert_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/revert"
	"github.com/cairn-dev/cairn/internal/session"
)

// planNewest returns what a revert of the newest prompt of ses_a would do: the files that it changes and those that
// stay.
func (m *model) planNewest(t *testing.T, force bool) (changed, kept []session.FilePath) {
	t.Helper()
	target := revert.Target{Point: revert.Point{
		MessageID: m.prompts[len(m.prompts)-1], Exclusive: true, Messages: true, Files: true, Force: force,
	}}
	planned, err := m.reverter().Plan(m.ctx, "ses_a", target)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range planned.Files {
		changed = append(changed, f.Path)
	}
	for _, f := range planned.Kept {
		kept = append(kept, f.Path)
	}
	return changed, kept
}

// TestCommandsOfTwoSessions checks that a file is shared by two sessions only if both have seen it change while their
// commands ran at the same time.
func TestCommandsOfTwoSessions(t *testing.T) {
	m := newModel(t, 1)
	begin := func(id session.ID) (end func()) {
		recorder, _, _ := m.beginTurn(id)
		done, err := recorder.WatchTree(m.ctx)
		m.check(err)
		return func() { done(); m.check(m.recorder.AwaitSession(m.ctx, id)) }
	}
	endA := begin("ses_a")
	m.write("alone", entry{0, "of A"})
	endB := begin("ses_b")
	m.write("both", entry{0, "of A or B"})
	endB()
	m.write("a", entry{0, "of A again"})
	endA()
	changed, kept := m.planNewest(t, false)
	if diff := cmp.Diff([]session.FilePath{"a", "alone"}, changed); diff != "" {
		t.Errorf("the revert changes -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]session.FilePath{"both"}, kept); diff != "" {
		t.Errorf("these files stay -want +got:\n%s", diff)
	}
}

// gatedTree is a worktree whose next capture waits for open.
type gatedTree struct {
	location.Worktree
	open chan struct{}
}

func (g *gatedTree) CaptureTree(ctx context.Context) (string, error) {
	<-g.open
	return g.Worktree.CaptureTree(ctx)
}

// TestLateChanges checks that what the user writes after the work has ended is not undone, although the changes of its
// last command are recorded later.
func TestLateChanges(t *testing.T) {
	m := newModel(t, 1)
	gate := &gatedTree{m.files.Worktree, make(chan struct{}, 1)}
	m.files.Worktree = gate
	gate.open <- struct{}{}
	recorder, _, _ := m.beginTurn("ses_a")
	done, err := recorder.WatchTree(m.ctx)
	m.check(err)
	m.write("a", entry{0, "of the command"})
	m.write("gone", entry{0, "of the command"})
	done()
	m.write(filepath.Join("dir", "b"), entry{0, "of the user"})
	gate.open <- struct{}{}
	m.check(m.recorder.AwaitSession(m.ctx, "ses_a"))
	changed, kept := m.planNewest(t, false)
	if diff := cmp.Diff([]session.FilePath{"a", "gone"}, changed); diff != "" {
		t.Errorf("the revert changes -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]session.FilePath{"dir/b"}, kept); diff != "" {
		t.Errorf("these files stay -want +got:\n%s", diff)
	}
	if changed, _ := m.planNewest(t, true); len(changed) != 3 {
		t.Errorf("a forced revert changes %v", changed)
	}
}
