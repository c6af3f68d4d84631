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
	gitTimeout = 2 * time.Minute
	maxOutput  = 256 << 20 // bytes
)

// gitDir is cairn's own git directory for a worktree.
type gitDir struct {
	program string // git
	dir     string // GIT_DIR
	root    string // the worktree
}

// PruneObjects removes git objects that captures wrote to dir, the Options.Dir of a worktree, more than a day ago and
// that the newest capture does not contain. Git is the path of the program; without it, and without captures of a git
// repository, nothing is done.
func PruneObjects(ctx context.Context, git, dir string) error {
	return pruneObjects(ctx, git, dir, "1.day.ago")
}

// pruneObjects is PruneObjects with the age of what is removed, in git's words.
func pruneObjects(ctx context.Context, git, dir, expire string) error {
	dir = filepath.Join(dir, "git")
	if _, err := os.Stat(dir); git == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := gitDir{program: git, dir: dir, root: dir}.run(ctx, nil, "prune", "--expire="+expire)
	return err
}

// run calls git on the git directory and returns its output.
func (g gitDir) run(ctx context.Context, stdin *bytes.Buffer, args ...string) (out []byte, err error) {
	err = g.stream(ctx, stdin, func(r *bufio.Reader) (err error) {
		out, err = io.ReadAll(r)
		return err
	}, args...)
	return out, err
}

// stream calls git and passes its output to read, whose error ends the call. The configuration and environment
// variables of the user and of the repository do not apply.
func (g gitDir) stream(
	ctx context.Context, stdin *bytes.Buffer, read func(*bufio.Reader) error, args ...string,
) error {
	// Prepare the command. Its environment is built from nothing, so that no setting of the user or the system
	// applies and git uses no network.
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
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
	// Run it and pass its output on while it arrives.
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cannot be run: %w", err)
	}
	// The output is bounded; what exceeds the bound is an error, not a cut.
	limited := &io.LimitedReader{R: stdout, N: maxOutput}
	readErr := read(bufio.NewReader(limited))
	if limited.N == 0 {
		readErr = fmt.Errorf("git %s printed more than %d MiB", args[0], maxOutput>>20)
	}
	// An error of the reader ends git, which would wait for its output to be read otherwise.
	if readErr != nil {
		cancel()
	}
	// Only the first line of git's message is reported.
	if err := cmd.Wait(); err != nil && readErr == nil {
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return fmt.Errorf("git %s failed: %w: %s", args[0], err, why)
	}
	return readErr
}
