package undo_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// faultyTree is a worktree whose process may die while it restores files, and whose disk may be full.
type faultyTree struct {
	scope.Worktree
	after int  // the files that Restore restores before it panics with errDeath; -1 never dies
	full  bool // nothing can be stored; files can be removed
}

func (f *faultyTree) Restore(ctx context.Context, steps []session.FileChange) []error {
	if f.after >= 0 {
		f.restore(ctx, steps[:min(f.after, len(steps))])
		f.after = -1
		panic(errDeath)
	}
	return f.restore(ctx, steps)
}

// restore restores the files; with a full disk it only removes files.
func (f *faultyTree) restore(ctx context.Context, steps []session.FileChange) []error {
	if !f.full {
		return f.Worktree.Restore(ctx, steps)
	}
	out := make([]error, len(steps))
	for i, s := range steps {
		if out[i] = syscall.ENOSPC; s.After.IsAbsent() {
			out[i] = f.Worktree.Restore(ctx, []session.FileChange{s})[0]
		}
	}
	return out
}

func (f *faultyTree) CaptureTree(ctx context.Context) (string, error) {
	if f.full {
		return "", syscall.ENOSPC
	}
	return f.Worktree.CaptureTree(ctx)
}

func (f *faultyTree) Save(ctx context.Context, path session.FilePath) (session.PathState, error) {
	if f.full {
		return session.PathState{}, syscall.ENOSPC
	}
	return f.Worktree.Save(ctx, path)
}

func (f *faultyTree) Put(ctx context.Context, content []byte, mode uint32) (session.PathState, error) {
	if f.full {
		return session.PathState{}, syscall.ENOSPC
	}
	return f.Worktree.Put(ctx, content, mode)
}

func (f *faultyTree) PinBlobs(ctx context.Context, id session.ID, blobs []string) error {
	if f.full {
		return syscall.ENOSPC
	}
	return f.Worktree.PinBlobs(ctx, id, blobs)
}

func (f *faultyTree) CopyBlob(ctx context.Context, path session.FilePath, blob string) (string, error) {
	if f.full {
		return "", syscall.ENOSPC
	}
	return f.Worktree.CopyBlob(ctx, path, blob)
}

// gitCommands are the commands that a person runs with git between prompts. Some fail, depending on what was done
// before.
var gitCommands = [][]string{
	{"commit -m x"},
	{"stash push -u"},
	{"stash pop"},
	{"checkout -- ."},
	{"reset --hard"},
	{"reset --hard HEAD~1"},
	{"checkout -f -b other", "commit -m y", "rebase main", "rebase --abort"},
	{"checkout -f main"},
	{"gc -q --prune=now"},
	{"clean -fdq"},
}

// useGit does what a person does with git. What git removes is no loss by a revert.
func (m *model) useGit() {
	before := m.read()
	for _, line := range gitCommands[m.rand.IntN(len(gitCommands))] {
		if strings.HasPrefix(line, "commit") {
			m.runGit("add", "-A")
		}
		m.logf("the user: git %s", line)
		m.runGit(strings.Fields(line)...)
	}
	if compare(before, m.read()) != nil {
		m.unchanged, m.start = false, nil
	}
}

func (m *model) runGit(args ...string) {
	cmd := exec.CommandContext(m.ctx, "git", args...)
	cmd.Dir = m.root
	cmd.Env = slices.Concat(os.Environ(), []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x",
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(out), "\n")
		m.logf("  %v: %s", err, first)
	}
}
