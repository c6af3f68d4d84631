package undo_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// planNewest returns what a revert of the newest prompt of ses_a would do: the files that it changes and those that
// stay.
func (m *model) planNewest(t *testing.T, force bool) (changed, kept []session.FilePath) {
	t.Helper()
	target := undo.Target{Point: undo.Point{
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

// TestTransientStatesInPart checks the same of commands that overlap in part: a revert restores what the file held
// before the first one, and does not claim a file that is as it was.
func TestTransientStatesInPart(t *testing.T) {
	for name, c := range map[string]struct {
		writes  [3]string // before the second command begins, before the first one ends, before the second one ends
		changed bool
	}{
		"as the second one begins":               {[3]string{"temporary", "start a", "start a"}, false},
		"as the first one ends":                  {[3]string{"start a", "temporary", "start a"}, false},
		"as the second one begins, then changed": {[3]string{"temporary", "start a", "changed"}, true},
		"changed, as the first one ends":         {[3]string{"changed", "temporary", "changed"}, true},
	} {
		for seed := range uint64(2) { // the first is in a git repository
			m := newModel(t, seed)
			turn, _, answer := m.beginTurn("ses_a")
			step := m.recorder.NewStep(m.files, "ses_a", m.prompts[0])
			first, err := turn.WatchTree(m.ctx)
			m.check(err)
			m.write("a", entry{0, c.writes[0]})
			second, err := step.ForCall(answer, m.journal.NewPartID(), "second").WatchTree(m.ctx)
			m.check(err)
			m.write("a", entry{0, c.writes[1]})
			first()
			m.write("a", entry{0, c.writes[2]})
			second()
			m.check(m.recorder.AwaitSession(m.ctx, "ses_a"))
			planned, err := m.reverter().StageRevert(m.ctx, "ses_a", undo.Target{Point: undo.Point{
				MessageID: m.prompts[0], Exclusive: true, Messages: true, Files: true,
			}})
			m.check(err)
			if len(planned.Kept) > 0 || c.changed != (len(planned.Files) > 0) {
				t.Errorf("%s, git %v: the revert is %+v", name, m.git, planned)
			}
			if got := m.read(); !maps.Equal(got, m.start) {
				t.Errorf("%s, git %v: the files are %v", name, m.git, got)
			}
		}
	}
}

// TestStateBetweenCommands checks that a revert restores what a file held before the first of the commands that ran at
// the same time, also if one of them, whose captures show no change of it, wrote the file between two others.
func TestStateBetweenCommands(t *testing.T) {
	m := newModel(t, 1)
	turn, _, answer := m.beginTurn("ses_a")
	begin := func(name string) (end func()) {
		step := m.recorder.NewStep(m.files, "ses_a", m.prompts[0])
		done, err := step.ForCall(answer, m.journal.NewPartID(), name).WatchTree(m.ctx)
		m.check(err)
		return done
	}
	remove := func() { m.check(os.Remove(filepath.Join(m.root, "a"))) }
	first, err := turn.WatchTree(m.ctx)
	m.check(err)
	remove()
	across := begin("across")
	first()
	m.write("a", entry{0, "between"})
	second := begin("second")
	remove()
	across()
	second()
	last := begin("last")
	m.write("a", entry{0, "last"})
	last()
	m.check(m.recorder.AwaitSession(m.ctx, "ses_a"))
	_, err = m.reverter().StageRevert(m.ctx, "ses_a", undo.Target{Point: undo.Point{
		MessageID: m.prompts[0], Exclusive: true, Messages: true, Files: true,
	}})
	m.check(err)
	if got := m.read(); !maps.Equal(got, m.start) {
		t.Errorf("the files are %v", got)
	}
}

// gatedTree is a worktree whose next capture waits for open.
type gatedTree struct {
	scope.Worktree
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

// RV-3: a revert in place of another one names the files that the reversal of that one left as they are, also if it has
// nothing to do with them itself.
func TestReplacedRevertNamesWhatStays(t *testing.T) {
	m := newModel(t, 1)
	for _, name := range []string{"first", "second"} {
		turn, _, _ := m.beginTurn("ses_a")
		done, err := turn.WatchTree(m.ctx)
		m.check(err)
		m.write(name, entry{0, "of the session"})
		done()
		m.check(m.recorder.AwaitSession(m.ctx, "ses_a"))
	}
	stage := func(prompt session.MessageID) *session.Revert {
		t.Helper()
		staged, err := m.reverter().StageRevert(m.ctx, "ses_a", undo.Target{Point: undo.Point{
			MessageID: prompt, Exclusive: true, Messages: true, Files: true,
		}})
		m.check(err)
		return staged
	}
	prompts := m.prompts[len(m.prompts)-2:]
	stage(prompts[0])
	m.write("first", entry{0, "of the user"})
	staged := stage(prompts[1])
	if len(staged.Files) != 1 || staged.Files[0].Path != "second" {
		t.Errorf("the revert changes %v", staged.Files)
	}
	if len(staged.Kept) != 1 || staged.Kept[0].Path != "first" || staged.Kept[0].Copy == "" {
		t.Errorf("these files stay: %+v", staged.Kept)
	}
}
