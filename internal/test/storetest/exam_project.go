package storetest

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func testProjects(t *testing.T, s store.Store) {
	repo := store.Project{
		ID: "prj_b", ProjectID: "root", Path: "/repo", Common: "/repo/.git", File: "1:2:3", Root: "root", Remote: "h/p",
		Name: "name", Icon: store.ProjectIcon{URL: "u", Override: "o", Color: "c"}, Created: 2, Updated: 3,
	}
	dir := store.Project{ID: "prj_a", ProjectID: "global", Path: "/dir", File: "1:3:3", Created: 2}
	plain := store.Project{ID: "prj_c", ProjectID: "global", Path: "/plain", Created: 1}
	update(t, s, func(tx store.Tx) error {
		for _, p := range []store.Project{repo, dir, plain, repo} {
			if err := tx.PutProject(p); err != nil {
				return err
			}
		}
		for _, p := range []store.Project{repo, dir} {
			a := store.Approval{
				ID: "psv_" + string(p.ID), RecordID: p.ID, Action: "edit", Resource: "*",
				Lifetime: "project",
			}
			if err := tx.PutApproval(a); err != nil {
				return err
			}
		}
		return nil
	})
	list := func(q store.ProjectQuery) []store.Project {
		return get(t, s, func(r store.Reader) ([]store.Project, error) { return r.Projects(q) })
	}
	for _, c := range []struct {
		name string
		q    store.ProjectQuery
		want []store.Project
	}{
		{"all, oldest first", store.ProjectQuery{}, []store.Project{plain, dir, repo}},
		{"by id", store.ProjectQuery{ID: "prj_b"}, []store.Project{repo}},
		{"by common directory", store.ProjectQuery{Common: "/repo/.git"}, []store.Project{repo}},
		{"by path", store.ProjectQuery{Path: "/dir"}, []store.Project{dir}},
		{"by file", store.ProjectQuery{File: "1:2:3"}, []store.Project{repo}},
		{"by any of them", store.ProjectQuery{Path: "/dir", File: "1:2:3"}, []store.Project{dir, repo}},
		{"unknown", store.ProjectQuery{ID: "x", Path: "y", Common: "z", File: "0"}, []store.Project{}},
	} {
		checkEqual(t, c.name, list(c.q), c.want)
	}
	// Another version replaces the record.
	repo.Path, repo.Common, repo.Name = "/moved", "/moved/.git", ""
	update(t, s, func(tx store.Tx) error { return tx.PutProject(repo) })
	checkEqual(t, "at the old path", list(store.ProjectQuery{Path: "/repo"}), []store.Project{})
	checkEqual(t, "at the new path", list(store.ProjectQuery{Common: "/moved/.git"}), []store.Project{repo})
	// A record goes with its approvals.
	var existed [2]bool
	update(t, s, func(tx store.Tx) (err error) {
		for i := range existed {
			if existed[i], err = tx.DeleteProject("prj_b", ""); err != nil {
				return err
			}
		}
		return nil
	})
	checkEqual(t, "existed", existed, [2]bool{true, false})
	checkEqual(t, "after deletion", list(store.ProjectQuery{}), []store.Project{plain, dir})
	left := get(t, s, func(r store.Reader) ([]store.Approval, error) { return r.Approvals("") })
	if len(left) != 1 || left[0].RecordID != "prj_a" {
		t.Errorf("approvals %v", left)
	}
}

func testProjectSessions(t *testing.T, s store.Store) {
	// Sessions that name a record, and those of an earlier version.
	repo := store.Project{ID: "prj_r", ProjectID: "hash", Path: "/r", Common: "/r/.git", Root: "root", Created: 1}
	clone := store.Project{ID: "prj_c", ProjectID: "other", Path: "/c", Common: "/c/.git", Root: "root", Created: 2}
	inside := store.Project{ID: "prj_i", ProjectID: "global", Path: "/r/inside", Common: "/r/inside/.git", Created: 3}
	folder := store.Project{ID: "prj_f", ProjectID: "global", Path: "/r/folder", Created: 4}
	home := store.Project{ID: "prj_h", ProjectID: "global", Path: "/", Created: 5}
	put := func(tx store.Tx, created int64, id session.ID, p session.ProjectID, r session.RecordID, dir string) error {
		return tx.PutSession(&session.Session{
			ID: id, Title: string(id), ProjectID: p, RecordID: r, Location: session.Location{Directory: dir},
			Time: session.SessionTime{Created: created, Updated: created},
		})
	}
	update(t, s, func(tx store.Tx) error {
		for _, p := range []store.Project{repo, clone, inside, folder, home} {
			if err := tx.PutProject(p); err != nil {
				return err
			}
		}
		for i, x := range []struct {
			id      session.ID
			project session.ProjectID
			record  session.RecordID
			dir     string
		}{
			{"ses_named", "hash", "prj_r", "/r"},
			{"ses_moved", "hash", "prj_r", "/elsewhere"},
			{"ses_old", "root", "", "/r/sub"},
			{"ses_begun", "global", "", "/r"},
			{"ses_linked", "root", "", "/linked"},
			{"ses_clone", "other", "prj_c", "/c"},
			{"ses_old_clone", "root", "", "/c"},
			{"ses_inside", "global", "prj_i", "/r/inside"},
			{"ses_folder", "global", "prj_f", "/r/folder"},
			{"ses_home", "global", "", "/"},
		} {
			if err := put(tx, int64(i), x.id, x.project, x.record, x.dir); err != nil {
				return err
			}
		}
		for p, dir := range map[*store.Project]string{&repo: "/r", &home: "/"} {
			if err := tx.AdoptSessions(*p, dir); err != nil {
				return err
			}
		}
		return tx.AdoptSessions(repo, "/linked")
	})
	// A change of a session keeps the record that adopted it.
	update(t, s, func(tx store.Tx) error { return put(tx, 2, "ses_old", "root", "", "/r/sub") })
	for _, c := range []struct {
		name string
		q    store.SessionQuery
		want []session.ID
	}{
		{
			"record",
			store.SessionQuery{RecordID: "prj_r", Oldest: true},
			[]session.ID{"ses_named", "ses_moved", "ses_old", "ses_begun", "ses_linked"},
		},
		{"recent", store.SessionQuery{RecordID: "prj_r", Recent: true, Limit: 2}, []session.ID{"ses_linked", "ses_begun"}},
		{
			"repository",
			store.SessionQuery{RecordID: "prj_r", Within: "/r", Oldest: true},
			[]session.ID{"ses_named", "ses_moved", "ses_old", "ses_begun", "ses_linked", "ses_folder"},
		},
		{"searched repository", store.SessionQuery{RecordID: "prj_r", Within: "/r", Search: "FOLD"}, []session.ID{"ses_folder"}},
		{"clone", store.SessionQuery{RecordID: "prj_c", Within: "/c"}, []session.ID{"ses_clone"}},
		{"directory outside of git", store.SessionQuery{RecordID: "prj_h"}, []session.ID{"ses_home"}},
		{"unknown", store.SessionQuery{RecordID: "prj_x"}, nil},
	} {
		checkEqual(t, c.name, listIDs(t, s, c.q), c.want)
	}
	testMovedProject(t, s)
	testElsewhere(t, s, []store.Project{repo, clone, folder})
	testForgottenProject(t, s, clone, put)
}

// testMovedProject lists the sessions of testProjectSessions for directories to which their project was moved.
func testMovedProject(t *testing.T, s store.Store) {
	t.Helper()
	toRepo, toClone := store.NewMoved("prj_r", []string{"/c", "/linked"}), store.NewMoved("prj_r", []string{"/r"})
	checkEqual(t, "directory of a moved project", listIDs(t, s, store.SessionQuery{Directory: "/r", Moved: toRepo, Oldest: true}),
		[]session.ID{"ses_named", "ses_begun", "ses_linked"})
	checkEqual(t, "recent", listIDs(t, s, store.SessionQuery{Directory: "/c", Moved: toClone, Recent: true, Limit: 3}),
		[]session.ID{"ses_old_clone", "ses_clone", "ses_begun"})
}

func listIDs(t *testing.T, s store.Store, q store.SessionQuery) (ids []session.ID) {
	t.Helper()
	for _, row := range get(t, s, func(r store.Reader) ([]store.RawSession, error) { return r.RawSessions(q) }) {
		ids = append(ids, row.ID)
	}
	return ids
}

// testElsewhere counts the sessions of other records of testProjectSessions.
func testElsewhere(t *testing.T, s store.Store, projects []store.Project) {
	t.Helper()
	repo, clone, folder := projects[0], projects[1], projects[2]
	elsewhere := func(p store.Project) int {
		return get(t, s, func(r store.Reader) (int, error) { return r.CountElsewhere(p) })
	}
	checkEqual(t, "of the clone, and of no record in its directory", elsewhere(repo), 2)
	checkEqual(t, "of the first repository, and of no record", elsewhere(clone), 6)
	checkEqual(t, "outside of git", elsewhere(folder), 0)
	again := store.Project{ID: "prj_n", ProjectID: "new", Path: "/r", Common: "/r/.git", Root: "new", Created: 6}
	checkEqual(t, "of an earlier repository at the path", elsewhere(again), 5)
}

// testForgottenProject deletes the record of the clone: its sessions can be adopted, also after they changed.
func testForgottenProject(
	t *testing.T, s store.Store, clone store.Project,
	put func(store.Tx, int64, session.ID, session.ProjectID, session.RecordID, string) error,
) {
	t.Helper()
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.DeleteProject("prj_c", ""); err != nil {
			return err
		}
		if err := put(tx, 6, "ses_clone", "other", "prj_c", "/c"); err != nil {
			return err
		}
		next := clone
		next.ID = "prj_c2"
		if err := errors.Join(tx.PutProject(next), tx.AdoptSessions(next, "/c")); err != nil {
			return err
		}
		return put(tx, 6, "ses_clone", "other", "prj_c", "/c")
	})
	rows := get(t, s, func(r store.Reader) ([]store.RawSession, error) {
		return r.RawSessions(store.SessionQuery{RecordID: "prj_c2"})
	})
	if len(rows) != 2 {
		t.Errorf("%d sessions are adopted", len(rows))
	}
	// Sessions have the record that lists find them by, whatever their events named.
	checkEqual(t, "the record of the session", string(getSession(t, s, "ses_clone").RecordID), "prj_c2")
	checkEqual(t, "the record of a session from before records", string(getSession(t, s, "ses_old_clone").RecordID), "prj_c2")
	checkEqual(t, "the record of a session that still has its first one", string(getSession(t, s, "ses_named").RecordID), "prj_r")
	for _, recent := range []bool{false, true} {
		listed := get(t, s, func(r store.Reader) ([]*session.Session, error) {
			return store.ReadSessions(r, store.SessionQuery{RecordID: "prj_c2", Recent: recent})
		})
		for _, x := range listed {
			checkEqual(t, "the record of the listed session "+string(x.ID), string(x.RecordID), "prj_c2")
		}
	}
	// A record can leave its sessions to another one, wherever they are.
	update(t, s, func(tx store.Tx) error {
		_, err := tx.DeleteProject("prj_r", "prj_c2")
		return err
	})
	checkEqual(t, "the record of an inherited session", string(getSession(t, s, "ses_moved").RecordID), "prj_c2")
	update(t, s, func(tx store.Tx) error {
		_, err := tx.DeleteProject("prj_c2", "")
		return err
	})
	checkEqual(t, "the record of a session without one", string(getSession(t, s, "ses_moved").RecordID), "")
}
