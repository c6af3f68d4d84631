package project

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// put stores sessions and approvals.
func put(t *testing.T, f *Finder, all ...any) {
	t.Helper()
	err := f.Store.Update(t.Context(), store.Relaxed, func(tx store.Tx) (err error) {
		for _, v := range all {
			switch v := v.(type) {
			case *session.Session:
				err = errors.Join(err, tx.PutSession(v))
			case store.Approval:
				err = errors.Join(err, tx.PutApproval(v))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func recordOf(t *testing.T, f *Finder, id session.ID) session.RecordID {
	t.Helper()
	s, err := store.ReadSession(t.Context(), f.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	return s.RecordID
}

func approvals(t *testing.T, f *Finder) []store.Approval {
	t.Helper()
	all, err := store.Query(t.Context(), f.Store, func(r store.Reader) ([]store.Approval, error) { return r.Approvals("") })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A forgotten record leaves its sessions without one until their directory has a record again, and no approval.
func TestForget(t *testing.T) {
	f := recordFinder(t)
	dir := realTemp(t)
	first := find(t, f, dir)
	put(t, f, &session.Session{
		ID: "ses_a", ProjectID: first.ID, RecordID: first.RecordID, Location: session.Location{Directory: dir},
	}, store.Approval{ID: "psv_1", RecordID: first.RecordID, Action: "edit", Resource: "*"})
	if err := f.ForgetRecord(t.Context(), first.RecordID); err != nil {
		t.Fatal(err)
	}
	if got := recordOf(t, f, "ses_a"); got != "" {
		t.Errorf("the session has the record %s, which was forgotten", got)
	}
	next := find(t, f, dir)
	if got := recordOf(t, f, "ses_a"); got != next.RecordID || got == first.RecordID {
		t.Errorf("the session has the record %s, want %s", got, next.RecordID)
	}
	if left := approvals(t, f); len(left) != 0 {
		t.Errorf("approvals are left: %v", left)
	}
	if err := f.ForgetRecord(t.Context(), first.RecordID); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Errorf("the second time: %v", err)
	}
}

// A record that is bound to a directory gets the sessions of the one there, wherever they are, and none of its approvals,
// which are returned.
func TestRebind(t *testing.T) {
	repo := repository(t)
	root := commit(t, repo, "one")
	f := recordFinder(t)
	lost, there := find(t, f, realTemp(t)), find(t, f, repo)
	kept := store.Approval{ID: "psv_1", RecordID: lost.RecordID, Action: "bash", Resource: "ls"}
	dropped := store.Approval{ID: "psv_2", RecordID: there.RecordID, Action: "edit", Resource: "*"}
	put(t, f, kept, dropped,
		&session.Session{ID: "ses_lost", RecordID: lost.RecordID, Location: session.Location{Directory: lost.Directory}},
		&session.Session{ID: "ses_there", RecordID: there.RecordID, Location: session.Location{Directory: repo}},
		&session.Session{ID: "ses_moved", RecordID: there.RecordID, Location: session.Location{Directory: "/earlier"}})
	tried, err := f.ChangeRecord(t.Context(), lost.RecordID, RecordChange{Directory: &repo, DryRun: true})
	if err != nil || len(tried.Dropped) != 1 || tried.Dropped[0] != dropped || len(approvals(t, f)) != 2 ||
		find(t, f, repo).RecordID != there.RecordID {
		t.Errorf("a dry run: %+v, %v, left: %v", tried, err, approvals(t, f))
	}
	changed, err := f.ChangeRecord(t.Context(), lost.RecordID, RecordChange{Directory: &repo})
	if err != nil {
		t.Fatal(err)
	}
	if changed.ID != lost.RecordID || changed.Path != repo || changed.Root != root || len(changed.Earlier) != 1 {
		t.Errorf("the record is %+v", changed.Project)
	}
	if len(changed.Dropped) != 1 || changed.Dropped[0] != dropped {
		t.Errorf("dropped: %v", changed.Dropped)
	}
	if left := approvals(t, f); len(left) != 1 || left[0] != kept {
		t.Errorf("left: %v", left)
	}
	for _, id := range []session.ID{"ses_lost", "ses_there", "ses_moved"} {
		if got := recordOf(t, f, id); got != lost.RecordID {
			t.Errorf("%s has the record %s, want %s", id, got, lost.RecordID)
		}
	}
	if got := find(t, f, repo); got.RecordID != lost.RecordID {
		t.Errorf("the directory has the record %s", got.RecordID)
	}
	if _, err := f.ChangeRecord(t.Context(), "prj_none", RecordChange{Directory: &repo}); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Errorf("an unknown record: %v", err)
	}
}

// What is in the place of a record.
func TestFindPresence(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	needsIdentities(t, find(t, f, repo))
	top := filepath.Dir(repo)
	linked := filepath.Join(top, "linked")
	runGit(t, repo, "worktree", "add", "-q", linked)
	rename(t, linked, linked+"2")
	plain := realTemp(t)
	of := func(dir string) store.Project {
		id := find(t, f, dir).RecordID
		all, err := store.Query(t.Context(), f.Store, func(r store.Reader) ([]store.Project, error) {
			return r.Projects(store.ProjectQuery{ID: id})
		})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	repository, moved, folder := of(repo), of(linked+"2"), of(plain)
	check := func(what string, p store.Project, want Presence) {
		t.Helper()
		if got := FindPresence(p); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	check("a repository", repository, PresencePresent)
	check("a directory", folder, PresencePresent)
	check("a moved worktree", moved, PresenceUnlinked)
	unknown := repository
	unknown.File = "device 1 inode 1"
	check("another file", unknown, PresenceReplaced)
	if os.Geteuid() != 0 {
		if err := os.Chmod(repo, 0); err != nil {
			t.Fatal(err)
		}
		check("a directory that cannot be read", repository, PresencePresent)
		if err := os.Chmod(repo, 0o700); err != nil { //nolint:gosec // of a directory
			t.Fatal(err)
		}
	}
	runGit(t, "", "init", "-q", plain)
	check("a directory that became a repository", folder, PresenceReplaced)
	if err := os.RemoveAll(filepath.Join(repo, ".git")); err != nil {
		t.Fatal(err)
	}
	check("a directory that was a repository", repository, PresenceReplaced)
	if err := os.RemoveAll(repo); err != nil {
		t.Fatal(err)
	}
	check("a removed repository", repository, PresenceGone)
}

// The root directory is nobody's project: everything would be in it.
func TestRebindToTheRoot(t *testing.T) {
	f := recordFinder(t)
	own := find(t, f, repository(t))
	root := "/"
	_, err := f.ChangeRecord(t.Context(), own.RecordID, RecordChange{Directory: &root})
	if !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
		t.Errorf("error %v, want one of code invalid", err)
	}
}
