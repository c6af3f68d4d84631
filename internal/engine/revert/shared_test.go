package revert_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/revert"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
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

// TestCommandBesideWrite checks that what a command did to a file is not forgotten because a file tool of another
// session wrote it meanwhile: the file stays, and is named.
func TestCommandBesideWrite(t *testing.T) {
	m := newModel(t, 1)
	recorder, _, _ := m.beginTurn("ses_a")
	done, err := recorder.WatchTree(m.ctx)
	m.check(err)
	m.check(os.Remove(filepath.Join(m.root, "a")))
	writer, _, _ := m.beginTurn("ses_b")
	for _, name := range []string{"a", "b"} {
		w := tool.FileWrite{Path: filepath.Join(m.root, name), After: []byte("of B")}
		m.check(writer.RecordWrites(m.ctx, []tool.FileWrite{w}))
		m.write(name, entry{0, "of B"})
	}
	m.write("alone", entry{0, "of A"})
	done()
	changed, kept := m.planNewest(t, false)
	if diff := cmp.Diff([]session.FilePath{"alone"}, changed); diff != "" {
		t.Errorf("the revert changes -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]session.FilePath{"a"}, kept); diff != "" {
		t.Errorf("these files stay -want +got:\n%s", diff)
	}
}

// TestTransientStates checks that a state that a command makes and undoes is no change of a command that saw it only at
// its beginning, whether the other one is of the same session or not.
func TestTransientStates(t *testing.T) {
	for name, other := range map[string]session.ID{"the same session": "ses_a", "another session": "ses_b"} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 1)
			turn, _, answer := m.beginTurn(other)
			mover, err := turn.WatchTree(m.ctx)
			m.check(err)
			m.write("a", entry{0, "temporary"})
			sleeper := turn
			if other == "ses_b" {
				sleeper, _, _ = m.beginTurn("ses_a")
			} else {
				sleeper = m.recorder.NewStep(m.files, other, m.prompts[0]).ForCall(answer, m.journal.NewPartID(), "second")
			}
			wait, err := sleeper.WatchTree(m.ctx)
			m.check(err)
			m.write("a", entry{0, "start a"})
			wait()
			mover()
			m.check(m.recorder.AwaitSession(m.ctx, other))
			if changed, _ := m.planNewest(t, false); len(changed) > 0 {
				t.Errorf("the revert changes %v", changed)
			}
		})
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
