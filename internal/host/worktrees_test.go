package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// treeWorld is an owner of a repository's worktrees.
type treeWorld struct {
	*owner
	home string
	at   session.Location // the main working tree
}

// newTreeWorld returns an owner of a repository with one commit. Settings are those of the user beside the model.
func newTreeWorld(t *testing.T, settings string) *treeWorld {
	t.Helper()
	home, _ := newHome(t)
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	o := optionsOf(home)
	write(t, filepath.Join(home, "config", "cairn.json"), settings)
	write(t, filepath.Join(o.Dir, "a.txt"), "one\n")
	runGit(t, o.Dir, "git init -q -b main; git add .; git commit -q -m one")
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := openOwner(t.Context(), lease, dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &treeWorld{w, home, session.Location{Directory: o.Dir}}
}

// makeTree makes and prepares a worktree.
func (w *treeWorld) makeTree(t *testing.T, n api.NewWorktree) api.Worktree {
	t.Helper()
	n.Prepare = true
	made, err := w.worktrees.CreateWorktree(t.Context(), w.at, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *treeWorld) remove(t *testing.T, directory string) error {
	t.Helper()
	_, err := w.worktrees.RemoveWorktree(t.Context(), w.at, api.WorktreeName{Directory: directory})
	return err
}

// listTrees returns the worktrees by name.
func (w *treeWorld) listTrees(t *testing.T) map[string]api.Worktree {
	t.Helper()
	all, err := w.worktrees.ListWorktrees(t.Context(), w.at, "")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]api.Worktree{}
	for _, one := range all {
		out[one.Name] = one
	}
	return out
}

// A worktree in which a session, a job or a terminal works stays, and the error says which. Servers that idle there end
// with it.
func TestRemoveWorktreeInUse(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	tree := w.makeTree(t, api.NewWorktree{Name: "fix"})
	s, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{Location: session.Location{Directory: tree.Directory}})
	if err != nil {
		t.Fatal(err)
	}
	work := w.worktrees.work
	job := session.Job{ID: "job_1", Command: "npm run dev", Directory: filepath.Join(tree.Directory, "web")}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		begin func() (end func())
		want  string
	}{
		"session": {func() func() {
			w.worktrees.work.sessions = func() []session.ID { return []session.ID{s.ID} }
			return func() {}
		}, "the session " + string(s.ID) + " works in " + tree.Directory},
		"job": {func() func() {
			w.worktrees.work.jobs = func() []task.RunningJob { return []task.RunningJob{{SessionID: s.ID, Job: job}} }
			return func() {}
		}, "the job job_1 (npm run dev) of the session " + string(s.ID) + " runs in " + job.Directory +
			"; to end it: cairn jobs cancel job_1"},
		"terminal": {func() func() {
			info, err := w.terminals.Open(pty.Order{Directory: w.home, Cwd: tree.Directory, Command: shell, Args: []string{"-c", "sleep 600"}})
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := w.terminals.Remove(w.home, info.ID); err != nil {
					t.Error(err)
				}
			}
		}, "is open in " + tree.Directory},
	} {
		end := c.begin()
		if err := w.remove(t, tree.Directory); !errors.Is(err, &session.Error{Code: session.CodeConflict}) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		end()
		w.worktrees.work = work
	}
	// A session that begins to work after the first look counts, too.
	looks := 0
	w.worktrees.work.sessions = func() []session.ID {
		if looks++; looks == 1 {
			return nil
		}
		return []session.ID{s.ID}
	}
	if err := w.remove(t, tree.Directory); err == nil || !strings.Contains(err.Error(), "works in") {
		t.Errorf("late: %v", err)
	}
	w.worktrees.work = work
	if one := w.listTrees(t)["fix"]; one.Missing || one.Problem != "" {
		t.Errorf("after refusals: %+v", one)
	}
	// An idle one is removed, and nothing is kept of it.
	w.locations.languages.mu.Lock()
	_, hadServers := w.locations.languages.opened[tree.Directory]
	w.locations.languages.mu.Unlock()
	if err := w.remove(t, tree.Directory); err != nil || !hadServers {
		t.Fatal(err, hadServers)
	}
	w.locations.languages.mu.Lock()
	_, hasServers := w.locations.languages.opened[tree.Directory]
	w.locations.languages.mu.Unlock()
	if w.locations.slots[tree.Directory] != nil || hasServers {
		t.Error("the servers of the location are kept")
	}
}

// Of removals of one worktree at the same time one succeeds; the others say that it is under way or done.
func TestRemoveWorktreeAtOnce(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	tree := w.makeTree(t, api.NewWorktree{Name: "fix"})
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = w.remove(t, tree.Directory) })
	}
	all.Wait()
	removed := 0
	for _, err := range errs {
		e, ok := errors.AsType[*session.Error](err)
		switch {
		case err == nil:
			removed++
		case !ok || e.Code != session.CodeConflict && e.Code != session.CodeNotFound:
			t.Error(err)
		}
	}
	if removed != 1 {
		t.Errorf("%d removals succeeded: %v", removed, errs)
	}
}

// A worktree whose configuration is broken, or whose parent is no absolute path, is not made.
func TestCreateWorktreeThatCannotBeUsed(t *testing.T) {
	w := newTreeWorld(t, `{"worktree": {"directory": "trees"}}`)
	_, err := w.worktrees.CreateWorktree(t.Context(), w.at, api.NewWorktree{Name: "fix"}, nil)
	if err == nil || !strings.Contains(err.Error(), `must be absolute, got "trees`) {
		t.Error(err)
	}
	write(t, filepath.Join(w.at.Directory, "cairn.json"), "{broken")
	runGit(t, w.at.Directory, "git checkout -q -b broken; git add .; git commit -q -m broken; git checkout -q main")
	parent := filepath.Join(w.home, "trees")
	_, err = w.worktrees.CreateWorktree(t.Context(), w.at, api.NewWorktree{Name: "fix", Directory: parent, From: "broken"}, nil)
	if err == nil || !strings.Contains(err.Error(), "cairn.json") {
		t.Error(err)
	}
	marks, errMarks := w.worktrees.marks.read()
	if _, err := os.Lstat(filepath.Join(parent, "fix")); err == nil || len(w.listTrees(t)) != 0 || len(marks) != 0 {
		t.Errorf("left: %v, %v, %v, %v", err, w.listTrees(t), marks, errMarks)
	}
	runGit(t, w.at.Directory, `test -z "$(git branch --list 'cairn/*')"`)
}

// A worktree counts as not prepared from before its commands start until they have succeeded, and they can run again.
func TestPreparationIsMarked(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	marks := w.worktrees.marks.path
	// The mark is there while the command runs, and goes.
	made := w.makeTree(t, api.NewWorktree{Name: "fix", Start: "grep -q /fix " + marks})
	if made.Problem != "" || made.Unprepared || w.listTrees(t)["fix"].Problem != "" {
		t.Errorf("%+v", made)
	}
	// It stays when the command fails, or is cut off.
	made = w.makeTree(t, api.NewWorktree{Name: "failed", Start: "test -e " + filepath.Join(w.home, "go")})
	if !made.Unprepared || made.Problem == "" {
		t.Errorf("%+v", made)
	}
	ctx, cancel := context.WithCancel(t.Context())
	fifo := filepath.Join(w.home, "fifo")
	runGit(t, w.home, "mkfifo fifo")
	var preparing sync.WaitGroup
	preparing.Go(func() {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when the command reads
		if err == nil {
			cancel()
			preparing.Go(func() { _ = f.Close() })
		}
	})
	cut, err := w.worktrees.CreateWorktree(ctx, w.at, api.NewWorktree{
		Name: "cut", Prepare: true, Start: "test -e " + filepath.Join(w.home, "go") + " || { cat " + fifo + "; sleep 600; }",
	}, nil)
	preparing.Wait()
	if err != nil || !cut.Unprepared {
		t.Errorf("%+v, %v", cut, err)
	}
	list := w.listTrees(t)
	for name, want := range map[string]string{"failed": "exit code 1", "cut": "its preparation was cut off"} {
		one := list[name]
		if !one.Unprepared || !strings.Contains(one.Problem, want) || !strings.Contains(one.Problem, "cairn worktree prepare") {
			t.Errorf("%s: %+v", name, one)
		}
	}
	// The same commands run again.
	again := func(name string) api.Worktree {
		t.Helper()
		out, err := w.worktrees.PrepareWorktree(t.Context(), w.at, api.WorktreeName{Directory: list[name].Directory})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := again("failed"); !out.Unprepared || !strings.Contains(out.Problem, "exit code 1") {
		t.Errorf("%+v", out)
	}
	write(t, filepath.Join(w.home, "go"), "")
	for _, name := range []string{"failed", "cut"} {
		if out := again(name); out.Unprepared {
			t.Errorf("%s: %+v", name, out)
		}
	}
	for name, one := range w.listTrees(t) {
		if one.Problem != "" {
			t.Errorf("%s: %+v", name, one)
		}
	}
	if _, err := w.worktrees.PrepareWorktree(t.Context(), w.at, api.WorktreeName{Directory: w.home}); !errors.Is(
		err, &session.Error{Code: session.CodeNotFound},
	) {
		t.Error(err)
	}
}

// Outside of a repository there are no worktrees, and the error says why.
func TestWorktreesOutsideOfARepository(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	outside := session.Location{Directory: w.home}
	if _, err := w.worktrees.ListWorktrees(t.Context(), outside, ""); !errors.Is(err, api.ErrNoRepository) {
		t.Error(err)
	}
	if _, err := w.worktrees.CreateWorktree(t.Context(), outside, api.NewWorktree{Name: ".."}, nil); !errors.Is(err, api.ErrNoRepository) {
		t.Error(err)
	}
}
