package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
)

// nameTries bounds the names that are tried for a worktree without one: as many as OpenCode makes.
const nameTries = 26

// maxStart bounds the command of a request in bytes. It is stored until it has succeeded.
const maxStart = 16 << 10

// CreateWorktree makes a worktree of the location's repository and prepares it. A project whose trust covers the same
// content is trusted in it too. done is called when the worktree is prepared, with the reason if it could not be; with
// Prepare that is before the return. With an error nothing is left, or the error says what.
func (w *worktrees) CreateWorktree(
	ctx context.Context, at session.Location, n api.NewWorktree, done func(api.Worktree, error),
) (out api.Worktree, err error) {
	setup, err := w.loadFor(ctx, at, n.ProjectID)
	if err != nil {
		return out, err
	}
	if !setup.project.IsGit() {
		return out, outsideError(setup)
	}
	parent := w.findParent(setup, n.Directory)
	if !filepath.IsAbs(parent) {
		return out, session.Errorf(session.CodeInvalid, "the directory of worktrees must be absolute, got %q",
			session.ClipText(parent, 200)).At("directory")
	}
	if len(n.Start) > maxStart {
		return out, session.Errorf(session.CodeInvalid, "the command has at most %d bytes", maxStart).At("start")
	}
	// The commands outlive the request if the caller does not wait for them.
	running := ctx
	if !n.Prepare {
		running = context.WithoutCancel(ctx)
	}
	running, end, err := w.begin(running)
	if err != nil {
		return out, err
	}
	// Make it. A name that cairn chooses is tried again if it is taken.
	var made *newTree
	for i := range nameTries {
		named := n
		if n.Name == "" {
			named.Name = admit.NameSlug(fmt.Sprintf("%s %d %d", setup.project.Main, time.Now().UnixNano(), i))
		}
		made, err = w.makeTree(ctx, setup, named, parent)
		if n.Name != "" || !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			break
		}
	}
	if err != nil {
		end()
		return out, err
	}
	out = api.Worktree{Directory: made.Directory, Name: made.Name, Branch: made.Branch}
	out.Note = made.setup.config.UntrustedStartReason()
	// Prepare it.
	w.locks.describeAs(made.directory, beingPrepared)
	prepare := func() error {
		defer end()
		err := w.prepareMarked(running, made.setup, made.directory, n.Start)
		made.leave() // done may lead to a removal or another change
		if done != nil {
			done(out, err)
		}
		return err
	}
	if !n.Prepare {
		go func() { _ = prepare() }() // it tells why it failed, and close waits for it
		return out, nil
	}
	if err := prepare(); err != nil {
		out.Problem, out.Unprepared = err.Error(), true
	}
	return out, nil
}

// newTree is a worktree that was made and is not prepared yet.
type newTree struct {
	project.LinkedWorktree
	setup     *locationSetup
	directory string // without links
	leave     func() // lets others change it
}

// makeTree makes a worktree, marks it as not prepared and loads its configuration, trusted as that of its source. With an
// error nothing of it is left, or the error says what.
func (w *worktrees) makeTree(
	ctx context.Context, setup *locationSetup, n api.NewWorktree, parent string,
) (made *newTree, err error) {
	if err := project.CheckWorktreeName(n.Name); err != nil {
		return nil, err
	}
	directory := filepath.Join(parent, n.Name)
	if real, err := filepath.EvalSymlinks(parent); err == nil {
		directory = filepath.Join(real, n.Name)
	}
	leave, err := w.locks.occupy(directory, beingMade)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	made = &newTree{directory: directory, leave: leave}
	// The mark is there before the worktree: one that is not prepared is never taken for a prepared one.
	if _, err := os.Lstat(directory); err == nil {
		return nil, session.Errorf(session.CodeConflict, "%s exists already", directory).At("name")
	}
	if err := w.marks.put(ctx, directory, preparationMark{Start: n.Start}); err != nil {
		return nil, err
	}
	made.LinkedWorktree, err = w.locations.projects.CreateWorktree(ctx, setup.project, project.NewWorktree{
		Name: n.Name, Parent: parent, From: n.From, Branch: n.Branch, Filters: setup.config.Trusted,
	})
	if err != nil {
		w.forgetMark(ctx, directory)
		return nil, err
	}
	// Without its configuration it cannot be used.
	if made.setup, err = w.loadTree(ctx, setup, made.Directory); err != nil {
		err = fmt.Errorf("the new worktree cannot be used: %w", err)
		errLeft := w.locations.projects.DiscardWorktree(ctx, setup.project, made.LinkedWorktree)
		if errLeft != nil {
			errLeft = fmt.Errorf("the worktree %s stays: %w", made.Directory, errLeft)
		}
		w.forgetMark(ctx, directory)
		return nil, errors.Join(err, errLeft)
	}
	return made, nil
}

// loadTree returns the setup of a new worktree. It is trusted if the trust of its source covers the same content.
func (w *worktrees) loadTree(ctx context.Context, source *locationSetup, directory string) (*locationSetup, error) {
	fresh, err := w.locations.load(ctx, directory)
	if err != nil || !source.config.Trusted || fresh.config.Trusted ||
		fresh.config.Claim.Hash() != source.config.Claim.Hash() {
		return fresh, err
	}
	if err := w.locations.trust.Store.Trust(ctx, fresh.config.Claim); err != nil {
		return nil, err
	}
	return w.locations.load(ctx, directory)
}

// findParent returns the directory of the worktrees of a repository: that of the request, else its own one in the
// configured directory.
func (w *worktrees) findParent(setup *locationSetup, requested string) string {
	if requested != "" {
		return requested
	}
	sum := sha256.Sum256([]byte(setup.project.Main))
	base := cmp.Or(setup.config.Worktree.Directory, w.locations.dirs.Worktrees)
	if rest, ok := strings.CutPrefix(base, "~/"); ok {
		base = filepath.Join(w.locations.dirs.Home, rest)
	}
	return filepath.Join(base, filepath.Base(setup.project.Main)+"-"+hex.EncodeToString(sum[:4]))
}
