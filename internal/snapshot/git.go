package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The bounds of a call of git.
const (
	gitTime   = 2 * time.Minute
	maxOutput = 256 << 20 // bytes
)

// batchReader reads what git writes.
type batchReader = bufio.Reader

// gitDir is our git directory of a worktree.
type gitDir struct{ program, dir, root string }

// PruneObjects removes what the captures in dir, the Options.Dir of a worktree, wrote and no longer need: objects that
// are older than a day and do not belong to the newest capture.
func PruneObjects(ctx context.Context, git, dir string) error {
	dir = filepath.Join(dir, "git")
	if _, err := os.Stat(dir); git == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := gitDir{program: git, dir: dir, root: dir}.run(ctx, nil, "prune", "--expire=1.day.ago")
	return err
}

// run calls git on our git directory and returns its output.
func (g gitDir) run(ctx context.Context, stdin *bytes.Buffer, args ...string) (out []byte, err error) {
	err = g.stream(ctx, stdin, func(r *batchReader) (err error) {
		out, err = io.ReadAll(r)
		return err
	}, args...)
	return out, err
}

// stream calls git and passes its output to read. Neither the user's configuration and variables apply, nor those of
// the repository.
func (g gitDir) stream(
	ctx context.Context, stdin *bytes.Buffer, read func(*batchReader) error, args ...string,
) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--literal-pathspecs"}, args...)...)
	cmd.Dir = g.root
	cmd.WaitDelay = time.Second
	cmd.Env = []string{
		"GIT_DIR=" + g.dir, "GIT_WORK_TREE=" + g.root, "PATH=" + os.Getenv("PATH"),
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C", "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cannot be run: %w", err)
	}
	readErr := read(bufio.NewReader(io.LimitReader(stdout, maxOutput)))
	if readErr != nil {
		cancel()
	}
	if err := cmd.Wait(); err != nil && readErr == nil {
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return fmt.Errorf("git %s failed: %w: %s", args[0], err, why)
	}
	return readErr
}
