package host

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// What a user allows in one checkout holds in its worktrees, and not in another checkout with the same root commit and
// remote: a clone has both, and anybody can make one.
func TestApprovalsOfACheckout(t *testing.T) {
	home, _ := newHome(t)
	project, clone, tree := filepath.Join(home, "project"), filepath.Join(home, "clone"), filepath.Join(home, "tree")
	write(t, filepath.Join(project, "README.md"), "x")
	runGit(t, project, `git init -q; git commit -q --allow-empty -m one
		git worktree add -q ../tree; git clone -q . ../clone`)
	write(t, filepath.Join(home, "config", "command", "asked.md"), "It printed !`echo asked`.")
	write(t, filepath.Join(home, "config", "cairn.json"), `{"permission": {"bash": {"*": "ask"}}}`)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)

	// Allow the command for good in a session of the project.
	s, err := c.API.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := c.API.Head(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var answered sync.WaitGroup
	answered.Go(func() { answerNextAsk(t, c.API, s, head, session.ReplyAlways) })
	if _, err := c.API.Expand(t.Context(), api.ExpandRequest{Command: "asked", SessionID: s.ID}); err != nil {
		t.Fatal(err)
	}
	answered.Wait()

	// It holds in all directories of the checkout.
	for dir, allowed := range map[string]bool{project: true, tree: true, clone: false} {
		there := *c.API
		there.Directory = dir
		_, err := there.Expand(t.Context(), api.ExpandRequest{Command: "asked"})
		if allowed && err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if !allowed && (err == nil || !strings.Contains(err.Error(), "permission for bash")) {
			t.Errorf("%s: the approval of another checkout holds: %v", dir, err)
		}
		at, err := there.Location(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, err := there.Approvals(t.Context(), at.Project.ID)
		if err != nil || (len(list) == 1) != allowed {
			t.Errorf("%s: approvals %v %v", dir, list, err)
		}
	}
}
