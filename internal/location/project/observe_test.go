package project

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// watchedStore counts the runs of git within transactions. before, if not nil, is called before the next one that writes.
type watchedStore struct {
	store.Store
	t      *testing.T
	runs   string // a file to which each run of git adds a byte
	before func(store.Tx) error
}

func (s *watchedStore) watch(do func() error) error {
	size := func() int64 {
		info, err := os.Stat(s.runs)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	err := do()
	if size() != before {
		s.t.Error("git ran within a transaction")
	}
	return err
}

func (s *watchedStore) Update(ctx context.Context, d store.Durability, do func(store.Tx) error) error {
	if first := s.before; first != nil {
		s.before = nil
		if err := s.Store.Update(ctx, d, first); err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, d, func(tx store.Tx) error { return s.watch(func() error { return do(tx) }) })
}

func (s *watchedStore) View(ctx context.Context, do func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return s.watch(func() error { return do(r) }) })
}

// Git does not run while a transaction is open, also if a record appears that needs it after the directory was looked at.
func TestGitRunsOutsideOfTransactions(t *testing.T) {
	repo := repository(t)
	root := commit(t, repo, "one")
	f := recordFinder(t)
	tools := t.TempDir()
	s := &watchedStore{Store: f.Store, t: t, runs: filepath.Join(tools, "runs")}
	f.Store, f.Git = s, filepath.Join(tools, "git")
	script := "#!/bin/sh\nprintf x >> '" + s.runs + "'\nexec git \"$@\"\n"
	if err := os.WriteFile(f.Git, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	appear := func(p store.Project) {
		s.before = func(tx store.Tx) error { return tx.PutProject(p) }
	}
	// The record of the place, with an older file of the repository.
	at := store.Project{ID: "prj_at", Path: repo, Common: filepath.Join(repo, ".git"), File: "old", Root: root}
	appear(at)
	if got := find(t, f, repo); got.RecordID != at.ID {
		t.Errorf("the record is %s, want %s", got.RecordID, at.ID)
	}
	// Another one while a record is bound to the repository.
	other := at
	other.ID, other.File = "prj_other", "older"
	appear(other)
	dir := realTemp(t)
	plain := find(t, f, dir)
	appear(other)
	if _, err := f.ChangeRecord(t.Context(), plain.RecordID, RecordChange{Directory: &repo}); err != nil {
		t.Fatal(err)
	}
	if all := f.records(t); len(all) != 1 || all[0].ID != plain.RecordID || all[0].Path != repo {
		t.Errorf("records: %+v", all)
	}
	if info, err := os.Stat(s.runs); err != nil || info.Size() == 0 {
		t.Errorf("git did not run: %v", err)
	}
	if got := find(t, f, repo); got.RecordID != plain.RecordID {
		t.Errorf("after the binding the record is %s, want %s", got.RecordID, plain.RecordID)
	}
}
