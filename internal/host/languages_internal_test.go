package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// All names of a directory have one slot, so that the end of the slot ends the servers that its location has.
func TestSlotOfALink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	l := newSlots(1)
	slot := l.enterSlot(link)
	if l.enterSlot(dir) != slot {
		t.Error("a link to the directory has another slot")
	}
	l.leaveSlot(slot)
	l.leaveSlot(slot)
	if _, err := l.languages.open(&config.Config{}, project.Project{Directory: dir}, process.Environment{}); err != nil {
		t.Fatal(err)
	}
	l.enterSlot(t.TempDir())
	if len(l.languages.opened) > 0 {
		t.Error("the language servers of the evicted location stay")
	}
}

// changedWorktree is a worktree in which a command changed two files.
type changedWorktree struct{ scope.Worktree }

func (changedWorktree) Root() string { return "/root" }

func (changedWorktree) Compare(context.Context, string, string, int) ([]session.FileChange, []session.FilePath, error) {
	return []session.FileChange{{Path: "a.go"}, {Path: "b/c.go"}}, nil, nil
}

// Language servers get the names of the files that commands change.
func TestLanguageServersFollowCommands(t *testing.T) {
	t.Parallel()
	var noted []string
	w := &watchedWorktree{changedWorktree{}, func(paths []string) { noted = append(noted, paths...) }}
	if found, _, err := w.Compare(t.Context(), "", "", 9); err != nil || len(found) != 2 {
		t.Errorf("%v %v", found, err)
	}
	if diff := cmp.Diff([]string{filepath.FromSlash("/root/a.go"), filepath.FromSlash("/root/b/c.go")}, noted); diff != "" {
		t.Error(diff)
	}
}

// Dropped language servers are not used again, and nothing is opened after the end of the process has begun.
func TestLanguagesAfterDropAndClose(t *testing.T) {
	t.Parallel()
	l := &languages{opened: map[string]openLanguages{}}
	at := project.Project{Directory: t.TempDir()}
	first, err := l.open(&config.Config{}, at, process.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := l.open(&config.Config{}, at, process.Environment{}); again != first {
		t.Error("the same configuration gets another manager")
	}
	l.drop(at.Directory)
	if again, _ := l.open(&config.Config{}, at, process.Environment{}); again == first {
		t.Error("the dropped manager is used again")
	}
	l.close()
	if m, err := l.open(&config.Config{}, at, process.Environment{}); err == nil || m != nil {
		t.Errorf("language servers were opened after the end: %v", err)
	}
}
