package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// A worktree is free when its creation says that it is ready.
func TestWorktreeIsFreeWhenReady(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	var errRemove error
	_, err := w.worktrees.CreateWorktree(t.Context(), w.at, api.NewWorktree{Name: "fix", Prepare: true},
		func(made api.Worktree, _ error) { errRemove = w.remove(t, made.Directory) })
	if err != nil || errRemove != nil {
		t.Error(err, errRemove)
	}
}

// A command that is too long is refused, and a damaged list of marks keeps nothing from being listed or removed.
func TestMarksThatCannotBeStored(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	_, err := w.worktrees.CreateWorktree(t.Context(), w.at, api.NewWorktree{Name: "long", Start: strings.Repeat(": ", 3<<20)}, nil)
	if !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
		t.Error(err)
	}
	tree := w.makeTree(t, api.NewWorktree{Name: "fix"})
	write(t, w.worktrees.marks.path, "{")
	if one := w.listTrees(t)["fix"]; one.Directory != tree.Directory {
		t.Errorf("%+v", one)
	}
	if err := w.remove(t, tree.Directory); err != nil {
		t.Error(err)
	}
	_, err = w.worktrees.CreateWorktree(t.Context(), w.at, api.NewWorktree{Name: "next"}, nil)
	if err == nil || !strings.Contains(err.Error(), w.worktrees.marks.path+" is damaged, remove it") {
		t.Error(err)
	}
}

// While changes of a session are copied, neither their source nor their destination is removed, by whatever name; a second
// change of an occupied worktree is refused, too.
func TestWorktreeIsOccupied(t *testing.T) {
	w := newTreeWorld(t, `{}`)
	source, destination := w.makeTree(t, api.NewWorktree{Name: "a"}), w.makeTree(t, api.NewWorktree{Name: "b"})
	write(t, filepath.Join(source.Directory, "new.txt"), "new\n")
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(destination.Directory, link); err != nil {
		t.Skip(err)
	}
	refuse := func(when, want string, directories ...string) {
		t.Helper()
		for _, d := range directories {
			err := w.remove(t, d)
			if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", when, d, err)
			}
		}
	}
	copying := checkouts{w.locations.projects, w.worktrees.locks}
	copied, err := copying.CopyChanges(t.Context(), source.Directory, destination.Directory)
	if err != nil {
		t.Fatal(err)
	}
	refuse("copied", "is used by a move of a session", source.Directory, destination.Directory, link)
	if err := copied.TakeBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	leave, err := w.worktrees.locks.occupy(destination.Directory, beingRemoved)
	if err != nil {
		t.Fatal(err)
	}
	refuse("removed", "is being removed", destination.Directory, link)
	if _, err := copying.CopyChanges(t.Context(), source.Directory, link); err == nil ||
		!strings.Contains(err.Error(), "is being removed") {
		t.Error(err)
	}
	leave()
	if err := w.remove(t, link); err != nil {
		t.Error(err)
	}
}

// The end waits for preparations, ends them and lets no other one begin.
func TestEndOfPreparations(t *testing.T) {
	w := &worktrees{closing: make(chan struct{})}
	running, end, err := w.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.close()
	}()
	<-running.Done()
	if _, _, err := w.begin(t.Context()); err == nil {
		t.Error("a preparation begins after the end")
	}
	end()
	<-closed
}
