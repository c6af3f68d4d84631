package checkout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/checkout"
)

// A repository outside of a working tree counts as its own if it names the working tree, and not because a file .git
// says so.
func TestFindLinkedRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-ec", `git init -q part; git -C part commit -q --allow-empty -m a
		git init -q main; cd main; git commit -q --allow-empty -m a; git worktree add -q ../linked
		git -c protocol.file.allow=always submodule --quiet add --name lib/part ../part deep/part
		git worktree add -q ../relative; echo ../main/.git/worktrees/relative > ../path
		echo "gitdir: $(cat ../path)" > ../relative/.git; echo ../../../../relative/.git > .git/worktrees/relative/gitdir
		git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../ofbare
		mkdir ../forged ../forged2 ../forged3
		echo "gitdir: $PWD/.git" > ../forged/.git
		echo "gitdir: $PWD/.git/worktrees/linked" > ../forged2/.git
		echo "gitdir: $PWD/.git/modules/lib/part" > ../forged3/.git
		git init -q --separate-git-dir ../separate.git ../separated`)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for dir, want := range map[string]string{
		"main": "", "linked": "main/.git", "relative": "main/.git", "main/deep/part": "main/.git/modules/lib/part",
		"ofbare": "bare.git", "forged": "", "forged2": "", "forged3": "", "separated": "",
	} {
		found, ok := checkout.Find(filepath.Join(top, dir))
		if !ok {
			t.Errorf("%s is no checkout", dir)
		}
		if got := strings.TrimPrefix(found.FindLinkedRepository(), top+"/"); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
