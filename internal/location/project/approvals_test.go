package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// An approval from before records moves to the only checkout that claims its root commit, whatever worktrees and
// directories its sessions have. It is dropped if another checkout claims it, too, if that is gone, or if none does.
func TestMoveApprovals(t *testing.T) {
	repo := repository(t)
	top := filepath.Dir(repo)
	root := session.ProjectID(commit(t, repo, "one"))
	linked, sub, clone := filepath.Join(top, "linked"), filepath.Join(repo, "sub"), filepath.Join(top, "clone")
	runGit(t, repo, "worktree", "add", "-q", linked)
	runGit(t, top, "clone", "-q", repo, clone)
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(top, "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		dirs  []string // of sessions with the root commit
		moved bool
	}{
		{"one checkout", []string{repo, linked, sub}, true},
		{"two checkouts", []string{repo, clone}, false},
		{"a directory that is gone", []string{repo, filepath.Join(top, "gone")}, false},
		{"a directory that lost its repository", []string{repo, plain}, false},
		{"no session", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := recordFinder(t)
			old := []store.Approval{
				{ID: "psv_1", RecordID: session.RecordID(root), Action: "bash", Resource: "ls", Lifetime: "project", Time: 1},
				{ID: "psv_2", RecordID: session.RecordID("directory:" + plain), Action: "edit", Resource: "*", Lifetime: "project"},
				{ID: "psv_3", RecordID: "global", Action: "edit", Resource: "*", Lifetime: "project"},
			}
			err := f.Store.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
				for _, a := range old {
					if err := tx.PutApproval(a); err != nil {
						return err
					}
				}
				for i, dir := range append(c.dirs, plain) {
					s := &session.Session{
						ID: session.ID("ses_" + string(rune('a'+i))), ProjectID: root, Location: session.Location{Directory: dir},
					}
					if dir == plain && i == len(c.dirs) {
						s.ProjectID = Global
					}
					if err := tx.PutSession(s); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			dropped, err := f.MoveApprovals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var want []store.Approval
			if c.moved {
				moved := old[0]
				moved.RecordID = find(t, f, repo).RecordID
				want = append(want, moved)
			}
			left, err := store.Query(t.Context(), f.Store, func(r store.Reader) ([]store.Approval, error) {
				return r.Approvals("")
			})
			if d := cmp.Diff(len(want), len(left)); d != "" || err != nil || c.moved && left[0] != want[0] {
				t.Errorf("%v, want %v, %v", left, want, err)
			}
			if len(dropped)+len(left) != len(old) {
				t.Errorf("dropped: %v", dropped)
			}
			for _, d := range dropped {
				if d.DescribePlace() == "" || d.ID == "psv_1" && len(c.dirs) > 0 && len(d.Directories) != len(c.dirs) {
					t.Errorf("dropped in %q: %+v", d.DescribePlace(), d)
				}
			}
			if again, err := f.MoveApprovals(t.Context()); len(again) > 0 || err != nil {
				t.Errorf("the second time: %v %v", again, err)
			}
		})
	}
}

// Records of directories that are gone are deleted unless they have something.
func TestPrune(t *testing.T) {
	f := recordFinder(t)
	top := realTemp(t)
	ids := map[string]session.RecordID{}
	for _, name := range []string{"empty", "named", "commands", "session", "approval", "there"} {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		ids[name] = find(t, f, dir).RecordID
		if name != "there" {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := f.Store.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		named, err := tx.Projects(store.ProjectQuery{ID: ids["named"]})
		if err != nil {
			return err
		}
		named[0].Name = "kept"
		if err := tx.PutProject(named[0]); err != nil {
			return err
		}
		given, err := tx.Projects(store.ProjectQuery{ID: ids["commands"]})
		if err != nil {
			return err
		}
		given[0].Commands.Start = "make"
		if err := tx.PutProject(given[0]); err != nil {
			return err
		}
		if err := tx.PutApproval(store.Approval{ID: "psv_1", RecordID: ids["approval"]}); err != nil {
			return err
		}
		return tx.PutSession(&session.Session{ID: "ses_1", RecordID: ids["session"]})
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Prune(t.Context()); n != 1 || err != nil {
		t.Errorf("%d records deleted, %v", n, err)
	}
	for _, p := range f.records(t) {
		if p.ID == ids["empty"] {
			t.Error("the empty one is left")
		}
	}
}

// People read where a dropped approval held.
func TestDescribePlace(t *testing.T) {
	for _, c := range []struct {
		record session.RecordID
		dirs   []string
		want   string
	}{
		{"directory:/x y", nil, "/x y"},
		{"global", []string{"/a"}, "all directories outside of git"},
		{"abc", nil, "the repository with the root commit abc"},
		{"abc", []string{"/a", "/b"}, "/a, /b"},
		{"abc", []string{"/a", "/b", "/c", "/d", "/e"}, "/a, /b, /c and 2 more"},
	} {
		d := DroppedApproval{store.Approval{RecordID: c.record}, c.dirs}
		if got := d.DescribePlace(); got != c.want {
			t.Errorf("%s: %q, want %q", c.record, got, c.want)
		}
	}
}
