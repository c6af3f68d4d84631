package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	gitTime   = 30 * time.Second // enough for a million commits without a commit graph
	maxOutput = 1 << 20
	maxWords  = 1000 // bytes of what git says of an error
	// worktreeTime bounds a call that may read or write all files of a working tree.
	worktreeTime = 10 * time.Minute
)

// git runs the git program.
type git struct{ path string }

func (f *Finder) findGit() (git, error) {
	if f.Git != "" {
		return git{f.Git}, nil
	}
	path, err := exec.LookPath("git")
	return git{path}, err
}

var hash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// rootCommit returns the root commit of HEAD, the first by name if there are several. In a shallow clone it is the
// oldest present commit.
func (g git) rootCommit(ctx context.Context, c checkout.Checkout) (string, error) {
	out, err := g.run(ctx, c, "rev-list", "--max-parents=0", "HEAD", "--")
	if err != nil {
		return "", err
	}
	roots := slices.DeleteFunc(strings.Fields(out), func(s string) bool { return !hash.MatchString(s) })
	if len(roots) == 0 {
		return "", errors.New("no commit")
	}
	return slices.Min(roots), nil
}

// isRoot reports whether the commit exists and has no parent. It does not walk the history. It is true if git cannot say
// so, such as at its time limit.
func (g git) isRoot(ctx context.Context, c checkout.Checkout, commit string) bool {
	out, err := g.run(ctx, c, "rev-list", "--no-walk", "--max-parents=0", commit, "--")
	exit, ended := errors.AsType[*exec.ExitError](err)
	if err != nil {
		return !ended || exit.ExitCode() < 0
	}
	return strings.TrimSpace(out) == commit
}

// run returns git's output.
func (g git) run(ctx context.Context, c checkout.Checkout, args ...string) (string, error) {
	return g.call(ctx, c, invocation{args: args, most: maxOutput})
}

// runFor is run with more variables, for at most worktreeTime.
func (g git) runFor(ctx context.Context, c checkout.Checkout, env []string, args ...string) (string, error) {
	return g.call(ctx, c, invocation{args: args, env: env, most: maxOutput, limit: worktreeTime})
}

// findCommit returns the commit of a name; "" is HEAD.
func (g git) findCommit(ctx context.Context, c checkout.Checkout, name string) (string, error) {
	if name == "" {
		name = "HEAD"
	}
	out, err := g.run(ctx, c, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	commit := strings.TrimSpace(out)
	if err == nil && hash.MatchString(commit) {
		return commit, nil
	}
	if name == "HEAD" {
		return "", session.Errorf(session.CodeInvalid, "the repository %s has no commit yet, so it can have no worktrees", c.Top)
	}
	return "", session.Errorf(session.CodeInvalid, "%q is no branch or commit here", session.ClipText(name, 80)).At("from")
}

// InitRepository creates a repository in the project's directory as the user would: with the user's own settings of
// git. It refuses the root directory, whose repository would surround all others.
func (f *Finder) InitRepository(ctx context.Context, p Project) error {
	// Check what needs no git.
	directory := p.Directory
	if filepath.Dir(directory) == directory {
		return session.Errorf(session.CodeInvalid, "cannot create a repository in %s", directory).At("directory")
	}
	g, err := f.findGit()
	if err != nil {
		return session.Errorf(session.CodeInvalid, "cannot create a repository: git was not found").Because(err)
	}
	// Run git with the user's settings, and nothing else of the environment.
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.path, "init", "--quiet", "--", directory)
	cmd.Dir, cmd.WaitDelay = directory, time.Second
	cmd.Env = []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "USERPROFILE"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		why := session.ClipText(strings.TrimSpace(string(out)), 500)
		return session.Errorf(session.CodeInvalid, "git cannot create a repository in %s: %s", directory, why).Because(err)
	}
	return nil
}

// invocation is one call of git.
type invocation struct {
	args  []string
	env   []string // in addition to the fixed environment
	stdin string
	most  int           // maximum bytes of output to keep
	limit time.Duration // of the call; 0 is gitTime
}

// gitError is a call of git that failed. Its text is what git says of it.
type gitError struct {
	words string
	err   error // of the process
}

func (e *gitError) Error() string { return cmp.Or(e.words, e.err.Error()) }

func (e *gitError) Unwrap() error { return e.err }

// call returns git's output. An error is a *gitError. Nothing that a repository can configure is run: no hooks, monitors, pagers, or remote
// helpers, which a partial clone would use for missing objects. The user's configuration and variables do not apply.
// Calls that read contents also need disableFilters.
func (g git) call(ctx context.Context, c checkout.Checkout, i invocation) (string, error) {
	limit := cmp.Or(i.limit, gitTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("git did not end within %v", limit))
	defer cancel()
	// Options and variables win over the settings of the repository.
	safe := []string{
		"--no-pager", "--git-dir=" + c.GitDir,
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=false",
		"-c", "log.showSignature=false", "-c", "core.quotePath=false",
	}
	cmd := exec.CommandContext(ctx, g.path, append(safe, i.args...)...)
	cmd.Dir = c.Top
	cmd.WaitDelay = time.Second
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + os.DevNull, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
	}, i.env...)
	// Pass the input on, and keep a bounded part of the output.
	if i.stdin != "" {
		cmd.Stdin = strings.NewReader(i.stdin)
	}
	out, words := &limitedBuffer{rest: i.most}, &limitedBuffer{rest: maxWords}
	cmd.Stdout, cmd.Stderr = out, words
	err := cmd.Run()
	switch cause := context.Cause(ctx); {
	case err == nil:
		return out.String(), nil
	case cause != nil:
		return out.String(), &gitError{cause.Error(), errors.Join(cause, err)}
	default:
		return out.String(), &gitError{strings.TrimSpace(session.ClipText(words.String(), maxWords)), err}
	}
}

// limitedBuffer keeps the first bytes and discards the rest, so that the writer does not block.
type limitedBuffer struct {
	bytes.Buffer
	rest int
}

var _ io.Writer = (*limitedBuffer)(nil)

func (l *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), l.rest)
	l.rest -= n
	l.Buffer.Write(p[:n])
	return len(p), nil
}
