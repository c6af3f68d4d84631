package project

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// A session whose project was moved works at the new place, never in another project at the old one.
func TestFindMoved(t *testing.T) {
	repo := repository(t)
	sub := filepath.Join(repo, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	f := recordFinder(t)
	own := find(t, f, repo)
	needsIdentities(t, own)
	at := func(dir string) *session.Session {
		return &session.Session{ID: "ses_1", RecordID: own.RecordID, Location: session.Location{Directory: dir}}
	}
	check := func(about, dir string, here session.RecordID, want string) {
		t.Helper()
		if to, err := f.FindMoved(t.Context(), at(dir), here); err != nil || to != want {
			t.Errorf("%s: %q, %v; want %q", about, to, err, want)
		}
	}
	check("not moved", repo, own.RecordID, "")
	check("not moved, and not opened", repo, "", "")

	// Moved, and seen at the new place.
	away := repo + ".away"
	rename(t, repo, away)
	check("renamed, and not seen yet", sub, "", filepath.Join(away, "sub"))
	if find(t, f, away).RecordID != own.RecordID {
		t.Fatal("the repository has another record after it was moved")
	}
	check("gone", sub, "", filepath.Join(away, "sub"))
	// The list of projects finds it as well.
	rename(t, away, repo+".listed")
	if err := f.FollowRenamed(t.Context()); err != nil || f.records(t)[0].Path != repo+".listed" {
		t.Errorf("the record is of %s, %v", f.records(t)[0].Path, err)
	}
	rename(t, repo+".listed", away)
	earlier, err := f.ListEarlier(t.Context(), find(t, f, filepath.Join(away, "sub")))
	if err != nil || !slices.Equal(earlier, []string{sub, filepath.Join(repo+".listed", "sub")}) {
		t.Errorf("earlier directories: %q, %v", earlier, err)
	}

	// Another repository took the place.
	if err := os.Rename(repository(t), repo); err != nil {
		t.Fatal(err)
	}
	other := find(t, f, repo)
	check("taken", repo, other.RecordID, away)

	// A repository below a project took no place.
	inner := filepath.Join(away, "sub")
	runGit(t, inner, "init", "-q")
	check("repository below", inner, find(t, f, inner).RecordID, "")
}

// A session does not run in another project, also if its own was not seen anywhere since.
func TestFindMovedUnseen(t *testing.T) {
	repo := repository(t)
	f := recordFinder(t)
	own := find(t, f, repo)
	needsIdentities(t, own)
	rename(t, repo, filepath.Join(t.TempDir(), "away"))
	other := repository(t)
	commit(t, other, "other")
	rename(t, other, repo)
	now := find(t, f, repo)
	if now.RecordID == own.RecordID {
		t.Skip("the repository without commits has the record of the place")
	}
	s := &session.Session{ID: "ses_1", RecordID: own.RecordID, Location: session.Location{Directory: repo}}
	if _, err := f.FindMoved(t.Context(), s, now.RecordID); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("error %v, want a conflict", err)
	}
}

// A session whose project has left the place to which it was moved, unseen, does not run in the project that is there now.
func TestFindMovedTwice(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "own")
	f := recordFinder(t)
	own := find(t, f, repo)
	needsIdentities(t, own)
	second := repo + ".second"
	rename(t, repo, second)
	find(t, f, second)
	third := filepath.Join(t.TempDir(), "third")
	rename(t, second, third)
	other := repository(t)
	commit(t, other, "other")
	rename(t, other, second)
	if find(t, f, second).RecordID == own.RecordID {
		t.Skip("another repository has the record of the place")
	}
	// Its first directory is missing.
	s := &session.Session{ID: "ses_1", RecordID: own.RecordID, Location: session.Location{Directory: repo}}
	if to, err := f.FindMoved(t.Context(), s, ""); to != "" || err != nil {
		t.Errorf("the first directory is missing: %q, %v", to, err)
	}
	// A third repository has it.
	another := repository(t)
	commit(t, another, "another")
	rename(t, another, repo)
	here := find(t, f, repo).RecordID
	if to, err := f.FindMoved(t.Context(), s, here); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("another repository has the first directory: %q, %v", to, err)
	}
	// It is seen again.
	find(t, f, third)
	if to, err := f.FindMoved(t.Context(), s, here); to != third || err != nil {
		t.Errorf("seen again: %q, %v", to, err)
	}
}

// A session of a linked worktree goes along when git moves the worktree, and never to another worktree.
func TestFindMovedWorktree(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	own := find(t, f, repo)
	needsIdentities(t, own)
	first, second, other := repo+".wt", repo+".moved", repo+".other"
	runGit(t, repo, "worktree", "add", "-q", first)
	runGit(t, repo, "worktree", "add", "-q", other)
	sub := filepath.Join(first, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, other} {
		if find(t, f, dir).RecordID != own.RecordID {
			t.Fatalf("the worktree %s has another record", dir)
		}
	}
	check := func(about, dir string, here session.RecordID, want string) {
		t.Helper()
		s := &session.Session{ID: "ses_1", RecordID: own.RecordID, Location: session.Location{Directory: dir}}
		if to, err := f.FindMoved(t.Context(), s, here); err != nil || to != want {
			t.Errorf("%s: %q, %v; want %q", about, to, err, want)
		}
	}
	earlier := func(about, dir string, want ...string) {
		t.Helper()
		if got, err := f.ListEarlier(t.Context(), find(t, f, dir)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: earlier directories %q, %v; want %q", about, got, err, want)
		}
	}
	check("not moved", first, own.RecordID, "")

	runGit(t, repo, "worktree", "move", first, second)
	check("moved", first, "", second)
	check("moved, below", sub, "", filepath.Join(second, "sub"))
	earlier("moved", second, first)
	earlier("moved, below", filepath.Join(second, "sub"), sub)
	earlier("of the main checkout", repo)
	earlier("of another worktree", other)

	// Without git, until git knows it.
	third := repo + ".third"
	rename(t, second, third)
	check("moved without git", first, "", "")
	runGit(t, third, "worktree", "repair")
	check("repaired", first, "", third)
	earlier("repaired", third, first, second)

	// Another project, and a new worktree, took the place.
	if err := os.Rename(repository(t), first); err != nil {
		t.Fatal(err)
	}
	check("taken by another project", first, find(t, f, first).RecordID, third)
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	runGit(t, repo, "worktree", "add", "-q", "-f", first)
	find(t, f, first)
	check("taken by a worktree", first, own.RecordID, "")
	earlier("taken by a worktree", third, second)

	// A worktree that was removed leads nowhere, whatever has its name in git's administration now.
	runGit(t, repo, "worktree", "remove", "--force", other)
	runGit(t, repo, "worktree", "add", "-q", filepath.Join(t.TempDir(), filepath.Base(other)))
	check("removed", other, "", "")
}
