package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// recordFinder returns a finder with an empty store.
func recordFinder(t *testing.T) *Finder {
	t.Helper()
	return &Finder{Store: storetest.NewMemory(), IDs: &session.IDs{}}
}

// records returns the number of records.
func (f *Finder) records(t *testing.T) []store.Project {
	t.Helper()
	all, err := store.Query(t.Context(), f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// needsIdentities skips a test where a renamed directory cannot be told from a new one.
func needsIdentities(t *testing.T, p Project) {
	t.Helper()
	if p.file == "" {
		t.Skip("the file system does not tell when a directory was made")
	}
}

// All directories and worktrees of a repository have one record.
func TestRecordOfARepository(t *testing.T) {
	repo := repository(t)
	f := recordFinder(t)
	begun := find(t, f, repo)
	commit(t, repo, "one")
	sub := filepath.Join(repo, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	linked, link := repo+"-linked", repo+"-link"
	runGit(t, repo, "worktree", "add", "-q", linked)
	if err := os.Symlink(repo, link); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{repo, sub, linked, link} {
		if got := find(t, f, dir); got.RecordID != begun.RecordID || got.RecordID == "" {
			t.Errorf("%s: the record is %s, want %s", dir, got.RecordID, begun.RecordID)
		}
	}
	all := f.records(t)
	if len(all) != 1 || all[0].Path != repo || all[0].Root == "" {
		t.Errorf("records: %+v", all)
	}
	if got := Worktrees(all[0]); len(got) != 1 || got[0] != linked {
		t.Errorf("worktrees: %v", got)
	}
	// A renamed repository keeps its record, with its worktree once git knows its new place.
	needsIdentities(t, begun)
	moved := repo + "-moved"
	rename(t, repo, moved)
	runGit(t, moved, "worktree", "repair")
	for _, dir := range []string{linked, moved} {
		if got := find(t, f, dir); got.RecordID != begun.RecordID {
			t.Errorf("moved: %s has the record %s", dir, got.RecordID)
		}
	}
	if all := f.records(t); len(all) != 1 || all[0].Path != moved {
		t.Errorf("moved: %+v", all)
	}
}

// Clones, copies, submodules and nested repositories have records of their own, whatever commits they have.
func TestRecordsOfCopies(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	runGit(t, repo, "remote", "add", "origin", "https://example.com/a/b.git")
	top := filepath.Dir(repo)
	runGit(t, top, "clone", "-q", repo, "clone")
	runGit(t, filepath.Join(top, "clone"), "remote", "set-url", "origin", "git@example.com:a/b")
	runGit(t, top, "clone", "-q", repo, filepath.Join("repo", "nested"))
	runGit(t, top, "-c", "protocol.file.allow=always", "-C", repo, "submodule", "--quiet", "add", repo, "part")
	if err := os.CopyFS(filepath.Join(top, "copy"), os.DirFS(repo)); err != nil {
		t.Fatal(err)
	}
	f := recordFinder(t)
	seen := map[session.RecordID]string{}
	for _, dir := range []string{"repo", "clone", "repo/nested", "repo/part", "copy"} {
		p := find(t, f, filepath.Join(top, dir))
		if other, ok := seen[p.RecordID]; ok {
			t.Errorf("%s has the record of %s", dir, other)
		}
		seen[p.RecordID] = dir
	}
	if a, b := find(t, f, repo), find(t, f, filepath.Join(top, "clone")); a.ID != b.ID || a.Root == string(a.ID) {
		t.Errorf("two checkouts of one remote are %s and %s for OpenCode", a.ID, b.ID)
	}
}

// A directory whose .git names the repository of another one does not get its record.
func TestForgedRepositoryHasItsOwnRecord(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	linked := repo + "-linked"
	runGit(t, repo, "worktree", "add", "-q", linked)
	f := recordFinder(t)
	mine := find(t, f, repo)
	forge := func(name string, write func(dir string) error) {
		dir := filepath.Join(filepath.Dir(repo), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(dir); err != nil {
			t.Skip(err)
		}
		got := find(t, f, dir)
		if got.RecordID == mine.RecordID || got.RecordID == "" || got.Main != dir {
			t.Errorf("%s: %+v", name, got)
		}
	}
	file := func(target string) func(string) error {
		return func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+target+"\n"), 0o600)
		}
	}
	forge("file", file(filepath.Join(repo, ".git")))
	forge("worktree", file(filepath.Join(repo, ".git", "worktrees", filepath.Base(linked))))
	forge("symlink", func(dir string) error { return os.Symlink(filepath.Join(repo, ".git"), filepath.Join(dir, ".git")) })
	forge("commondir", func(dir string) error {
		git := filepath.Join(dir, ".git")
		if err := os.Mkdir(git, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(git, "commondir"), []byte(filepath.Join(repo, ".git")+"\n"), 0o600)
	})
}

// Worktrees of a bare repository have one record, whichever is opened first.
func TestRecordOfABareRepository(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	top := filepath.Dir(repo)
	bare := filepath.Join(top, "bare.git")
	runGit(t, top, "clone", "-q", "--bare", repo, bare)
	f := recordFinder(t)
	ids := map[session.RecordID]bool{}
	for _, name := range []string{"a", "b", "a"} {
		dir := filepath.Join(top, name)
		if _, err := os.Stat(dir); err != nil {
			runGit(t, bare, "worktree", "add", "-q", dir)
		}
		ids[find(t, f, dir).RecordID] = true
	}
	if all := f.records(t); len(ids) != 1 || len(all) != 1 || all[0].Path != bare {
		t.Errorf("%v, records: %+v", ids, all)
	}
}

// The directory of a bare repository has the record of its worktrees, before and after there are any.
func TestRecordOfABareDirectory(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	top := filepath.Dir(repo)
	for _, c := range []struct {
		name   string
		before bool // the directory is opened before the worktree
	}{{"bare.git", true}, {"bare", false}} {
		bare, linked := filepath.Join(top, c.name), filepath.Join(top, "of-"+c.name)
		runGit(t, top, "clone", "-q", "--bare", repo, bare)
		f := recordFinder(t)
		var first Project
		if c.before {
			first = find(t, f, bare)
		}
		runGit(t, bare, "worktree", "add", "-q", linked)
		tree := find(t, f, linked)
		again := find(t, f, bare)
		if c.before && again != first || again.IsGit() || tree.RecordID == "" || tree.RecordID != again.RecordID {
			t.Errorf("%s: first %+v, the worktree %+v, then %+v", c.name, first, tree, again)
		}
		if all := f.records(t); len(all) != 1 || all[0].Path != bare || len(all[0].Earlier) > 0 {
			t.Errorf("%s: %+v", c.name, all)
		}
	}
}

// A directory keeps its record when its repository is removed, also when it is renamed then; a directory in its place does
// not get it.
func TestRecordWithoutItsRepository(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	first := find(t, f, repo)
	needsIdentities(t, first)
	if err := os.RemoveAll(filepath.Join(repo, ".git")); err != nil {
		t.Fatal(err)
	}
	if first.IsSameFile() {
		t.Error("the repository looks like there")
	}
	if got := find(t, f, repo); got.RecordID != first.RecordID || got.IsGit() || got.Root != "" || got.ID != Global {
		t.Errorf("without its repository: %+v", got)
	}
	moved := repo + "-moved"
	rename(t, repo, moved)
	if got := find(t, f, moved); got.RecordID != first.RecordID {
		t.Errorf("renamed: %+v", got)
	}
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(moved, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := find(t, f, moved); got.RecordID == first.RecordID {
		t.Error("another directory in its place has the record")
	}
}

// A linked worktree that was moved without git is a project of its own, and that of its repository once git knows it.
func TestRecordOfAMovedWorktree(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	linked := repo + "-linked"
	runGit(t, repo, "worktree", "add", "-q", linked)
	f := recordFinder(t)
	first := find(t, f, linked)
	rename(t, linked, linked+"2")
	got := find(t, f, linked+"2")
	if !got.Unlinked || got.RecordID == first.RecordID || got.RecordID == "" {
		t.Errorf("moved: %+v", got)
	}
	runGit(t, linked+"2", "worktree", "repair")
	if got := find(t, f, linked+"2"); got.Unlinked || got.RecordID != first.RecordID {
		t.Errorf("repaired: %+v", got)
	}
}

// A directory outside of git keeps its record when it is renamed, when it comes back, and when git init is called in it.
// A clone in its place gets another one.
func TestRecordOfADirectory(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	dir := filepath.Join(realTemp(t), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first := find(t, f, dir)
	if first.IsGit() {
		t.Skip("the temporary directory is in a checkout")
	}
	needsIdentities(t, first)
	rename(t, dir, dir+"2")
	dir += "2"
	if got := find(t, f, dir); got.RecordID != first.RecordID {
		t.Errorf("renamed: %s, was %s", got.RecordID, first.RecordID)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := find(t, f, dir); got.RecordID != first.RecordID {
		t.Errorf("made again: %s, was %s", got.RecordID, first.RecordID)
	}
	runGit(t, "", "init", "-q", dir)
	if got := find(t, f, dir); got.RecordID != first.RecordID || !got.IsGit() {
		t.Errorf("with a repository: %+v", got)
	}
	commit(t, dir, "two")
	before := find(t, f, dir)
	if before.RecordID != first.RecordID || before.Root == "" {
		t.Errorf("with a commit: %+v", before)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	runGit(t, "", "clone", "-q", repo, dir)
	if before.IsSameFile() {
		t.Error("the clone looks like the repository before it")
	}
	if got := find(t, f, dir); got.RecordID == first.RecordID || got.RecordID == "" {
		t.Errorf("a clone in the same place has the record %s", got.RecordID)
	}
}

// A known repository is found without git, and keeps what OpenCode calls it on an orphan branch.
func TestKnownRepositoryNeedsNoGit(t *testing.T) {
	repo := repository(t)
	root := commit(t, repo, "one")
	f := recordFinder(t)
	if got := find(t, &Finder{Git: noGit, Store: f.Store, IDs: f.IDs}, repo); got.ID != Global || got.Worktree != repo {
		t.Errorf("without git: %+v", got)
	}
	first := find(t, f, repo)
	needsIdentities(t, first)
	runGit(t, repo, "checkout", "-q", "--orphan", "pages")
	commit(t, repo, "another root")
	f.Git = noGit
	if got := find(t, f, repo); got != first || got.Root != root {
		t.Errorf("got %+v, want %+v", got, first)
	}
}

// Looking at a directory stores nothing.
func TestPeek(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	f := recordFinder(t)
	if p, err := f.Peek(t.Context(), repo); err != nil || p.RecordID != "" || len(f.records(t)) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	known := find(t, f, repo)
	if p, err := f.Peek(t.Context(), repo); err != nil || p != known {
		t.Errorf("%+v %v, want %+v", p, err, known)
	}
}

// A store that cannot be written leaves a project without a record.
func TestRecordThatCannotBeStored(t *testing.T) {
	f := recordFinder(t)
	f.Store = readOnly{f.Store}
	if p := find(t, f, realTemp(t)); p.RecordID != "" {
		t.Errorf("%+v", p)
	}
}

type readOnly struct{ store.Store }

func (readOnly) Update(context.Context, store.Durability, func(store.Tx) error) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrReadOnly)
}

func TestNormalizeRemote(t *testing.T) {
	for address, want := range map[string]string{
		"https://GitHub.com/a/B.git":           "github.com/a/B",
		"https://user:secret@github.com/a/b/":  "github.com/a/b",
		"ssh://git@github.com:2222/a/b.git/":   "github.com/a/b",
		"git@github.com:a/b.git":               "github.com/a/b",
		"github.com:/a/b":                      "github.com/a/b",
		"git://host/x":                         "host/x",
		"/srv/git/x.git":                       "",
		"../x":                                 "",
		"file:///srv/git/x":                    "",
		"https://host":                         "",
		"":                                     "",
		"ext::sh -c x":                         "",
		strings.Repeat("x", 10) + "@host:p:q/": "host/p:q",
	} {
		if got := normalizeRemote(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// A linked worktree whose repository was moved says so until git worktree repair ran.
func TestWorktreeOfAMovedRepository(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	linked := filepath.Join(realTemp(t), "linked")
	runGit(t, repo, "worktree", "add", "-q", linked)
	f := recordFinder(t)
	first := find(t, f, linked)
	needsIdentities(t, first)
	if first.Unlinked {
		t.Fatal("a worktree of a repository that is there")
	}
	rename(t, repo, repo+"2")
	got := find(t, f, linked)
	if !got.Unlinked || got.RecordID == first.RecordID {
		t.Errorf("after the repository was moved: %+v", got)
	}
	i := slices.IndexFunc(f.records(t), func(p store.Project) bool { return p.ID == got.RecordID })
	if i < 0 || FindPresence(f.records(t)[i]) != PresenceUnlinked {
		t.Errorf("the presence of its record: %v", f.records(t))
	}
	runGit(t, repo+"2", "worktree", "repair", linked)
	if got := find(t, f, linked); got.Unlinked || got.RecordID != first.RecordID {
		t.Errorf("after the repair: %+v, want the record %s", got, first.RecordID)
	}
}
