package project

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A clone in the place of a repository has its root commit: the sessions of the place are found there, but nothing that
// was approved for the other one holds.
func TestApprovalsOfAReplacedRepository(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	var told []store.Approval
	f.OnDrop = func(_ context.Context, _ store.Project, dropped []store.Approval) { told = append(told, dropped...) }
	first := find(t, f, repo)
	needsIdentities(t, first)
	put(t, f, store.Approval{ID: "psv_1", RecordID: first.RecordID, Action: "bash", Resource: "npm test *"},
		&session.Session{ID: "ses_1", RecordID: first.RecordID, Location: session.Location{Directory: repo}})
	// A file that is written anew, or the next look, changes nothing.
	if err := os.WriteFile(filepath.Join(repo, "README"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if find(t, f, repo); len(approvals(t, f)) != 1 {
		t.Fatal("the approval is gone before anything was replaced")
	}
	// Put a clone in its place.
	away := repo + ".old"
	if err := os.Rename(repo, away); err != nil {
		t.Fatal(err)
	}
	runGit(t, filepath.Dir(repo), "clone", "-q", away, repo)
	second := find(t, f, repo)
	if second.RecordID != first.RecordID || recordOf(t, f, "ses_1") != first.RecordID {
		t.Errorf("the sessions of the place have another record: %s, not %s", second.RecordID, first.RecordID)
	}
	if left := approvals(t, f); len(left) != 0 || len(told) != 1 || told[0].ID != "psv_1" {
		t.Errorf("left: %v, told: %v", left, told)
	}
	if find(t, f, away).RecordID == first.RecordID {
		t.Error("the repository that was moved away has the record as well")
	}
}
