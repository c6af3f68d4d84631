package project

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// What is on disk leads to a known record, which it may change, or to a new one.
func TestMatch(t *testing.T) {
	repo := store.Project{ID: "prj_r", Path: "/r", PathFile: "dir0", Common: "/r/.git", File: "git1", Root: "root"}
	begun := store.Project{ID: "prj_b", Path: "/b", Common: "/b/.git", File: "git2"} // without commits
	folder := store.Project{ID: "prj_f", Path: "/f", File: "dir1"}
	blind := store.Project{ID: "prj_n", Path: "/n", Common: "/n/.git"} // on a file system without identities
	bare := store.Project{ID: "prj_w", Path: "/w", Common: "/bare.git", File: "git3", Root: "root"}
	givenUp := store.Project{ID: "prj_g", Path: "/given-up", File: "dir6", Root: "root"}
	known := []store.Project{repo, begun, folder, blind, bare, givenUp}
	type disk struct {
		path, common, pathFile, commonFile, root string
		guessed                                  bool
	}
	for _, c := range []struct {
		name string
		now  disk
		want store.Project // without an id: a new one
	}{
		{"unchanged", disk{"/r", "/r/.git", "dir0", "git1", "root", false}, repo},
		{"on an orphan branch", disk{"/r", "/r/.git", "dir0", "git1", "other", false}, repo},
		{
			"restored from a backup",
			disk{"/r", "/r/.git", "dir9", "git9", "root", false},
			store.Project{ID: "prj_r", Path: "/r", Common: "/r/.git", File: "git9", Root: "root"},
		},
		{
			"another repository in its place",
			disk{"/r", "/r/.git", "dir0", "git9", "other", false},
			store.Project{Path: "/r", Common: "/r/.git", File: "git9", Root: "other"},
		},
		{
			"an empty repository in its place",
			disk{"/r", "/r/.git", "dir0", "git9", "", false},
			store.Project{Path: "/r", Common: "/r/.git", File: "git9"},
		},
		{
			"its repository removed",
			disk{"/r", "", "dir0", "", "", false},
			store.Project{ID: "prj_r", Path: "/r", File: "dir0", Root: "root"},
		},
		{
			"another directory in its place",
			disk{"/r", "", "dir9", "", "", false},
			store.Project{Path: "/r", File: "dir9"},
		},
		{
			"renamed",
			disk{"/s", "/s/.git", "dir0", "git1", "root", false},
			store.Project{ID: "prj_r", Path: "/s", Common: "/s/.git", File: "git1", Root: "root"},
		},
		{
			"renamed with another history",
			disk{"/s", "/s/.git", "dir0", "git1", "other", false},
			store.Project{Path: "/s", Common: "/s/.git", File: "git1", Root: "other"},
		},
		{
			"cloned, forked or copied",
			disk{"/s", "/s/.git", "dir5", "git5", "root", false},
			store.Project{Path: "/s", Common: "/s/.git", File: "git5", Root: "root"},
		},
		{
			"copied to a file system without identities",
			disk{"/s", "/s/.git", "", "", "root", false},
			store.Project{Path: "/s", Common: "/s/.git", Root: "root"},
		},
		{
			"first commit",
			disk{"/b", "/b/.git", "dir2", "git2", "first", false},
			store.Project{ID: "prj_b", Path: "/b", Common: "/b/.git", File: "git2", Root: "first"},
		},
		{
			"an empty repository in the place of one",
			disk{"/b", "/b/.git", "dir2", "git9", "", false},
			store.Project{ID: "prj_b", Path: "/b", Common: "/b/.git", File: "git9"},
		},
		{
			"a clone in the place of an empty repository",
			disk{"/b", "/b/.git", "dir2", "git9", "other", false},
			store.Project{Path: "/b", Common: "/b/.git", File: "git9", Root: "other"},
		},
		{
			"first commit without identities",
			disk{"/n", "/n/.git", "", "", "first", false},
			store.Project{ID: "prj_n", Path: "/n", Common: "/n/.git", Root: "first"},
		},
		{
			"git init",
			disk{"/f", "/f/.git", "dir1", "git6", "", false},
			store.Project{ID: "prj_f", Path: "/f", Common: "/f/.git", File: "git6"},
		},
		{
			"git init and a commit",
			disk{"/f", "/f/.git", "dir1", "git6", "first", false},
			store.Project{ID: "prj_f", Path: "/f", Common: "/f/.git", File: "git6", Root: "first"},
		},
		{
			"git init above",
			disk{"/", "/.git", "dir7", "git7", "", false},
			store.Project{Path: "/", Common: "/.git", File: "git7"},
		},
		{
			"a clone in the place of a directory",
			disk{"/f", "/f/.git", "dir8", "git8", "root", false},
			store.Project{Path: "/f", Common: "/f/.git", File: "git8", Root: "root"},
		},
		{"a directory", disk{"/f", "", "dir1", "", "", false}, folder},
		{
			"a directory that comes back",
			disk{"/f", "", "dir9", "", "", false},
			store.Project{ID: "prj_f", Path: "/f", File: "dir9"},
		},
		{
			"a directory that was renamed",
			disk{"/g", "", "dir1", "", "", false},
			store.Project{ID: "prj_f", Path: "/g", File: "dir1"},
		},
		{
			"another name of a directory, in other letters",
			disk{"/F", "", "dir1", "", "", false},
			store.Project{ID: "prj_f", Path: "/F", File: "dir1"},
		},
		{
			"a directory that claims a repository",
			disk{"/evil", "", "dir9", "", "root", false},
			store.Project{Path: "/evil", File: "dir9", Root: "root"},
		},
		{
			"a directory that had a repository, renamed",
			disk{"/renamed", "", "dir6", "", "", false},
			store.Project{ID: "prj_g", Path: "/renamed", File: "dir6", Root: "root"},
		},
		{
			"another directory in the place of one that had a repository",
			disk{"/given-up", "", "dir9", "", "", false},
			store.Project{Path: "/given-up", File: "dir9"},
		},
		{
			"its repository comes back",
			disk{"/given-up", "/given-up/.git", "dir6", "git6", "root", false},
			store.Project{ID: "prj_g", Path: "/given-up", Common: "/given-up/.git", File: "git6", Root: "root"},
		},
		{
			"another repository in a directory that had one",
			disk{"/given-up", "/given-up/.git", "dir6", "git6", "other", false},
			store.Project{Path: "/given-up", Common: "/given-up/.git", File: "git6", Root: "other"},
		},
		{"a worktree of a bare repository", disk{"/bare.git", "/bare.git", "git3", "git3", "root", true}, bare},
		{"a new directory", disk{"/new", "", "dir9", "", "", false}, store.Project{Path: "/new", File: "dir9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := &diskState{
				Path: c.now.path, Common: c.now.common, PathFile: c.now.pathFile, CommonFile: c.now.commonFile,
				IsMainUnknown: c.now.guessed,
				HasRoot:       func(commit string) bool { return commit == c.now.root },
				Root:          func() string { return c.now.root },
			}
			for _, k := range known { // the path that it had is kept
				if k.ID == c.want.ID && k.Path != c.want.Path && c.want.ID != "" {
					c.want.Earlier = []string{k.Path}
				}
			}
			if c.want.Common != "" && !c.now.guessed {
				c.want.PathFile = c.now.pathFile
			}
			got := match(now, known)
			got.ProjectID = ""
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Nothing is asked of git for what is known and unchanged.
func TestMatchWithoutGit(t *testing.T) {
	repo := store.Project{ID: "prj_r", Path: "/r", Common: "/r/.git", File: "git1", Root: "root"}
	repo.ProjectID = "root"
	now := &diskState{Path: "/r", Common: "/r/.git", CommonFile: "git1"} // its functions are missing
	if got := match(now, []store.Project{repo}); !reflect.DeepEqual(got, repo) {
		t.Errorf("got %v", got)
	}
}
