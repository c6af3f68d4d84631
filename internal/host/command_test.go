package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/api"
)

// A command of the user's own names a file of the project; a link there does not lead to what is the user's.
func TestLinksOfAProjectAreNotAttached(t *testing.T) {
	home, _ := newHome(t)
	write(t, filepath.Join(home, "secret.txt"), hostSecret)
	write(t, filepath.Join(home, "project", "real.md"), "x")
	write(t, filepath.Join(home, "config", "command", "look.md"), "See @real.md @linked.md @inner.md @dir/secret.txt @~/secret.txt @../secret.txt @none.md")
	for link, to := range map[string]string{"linked.md": "../secret.txt", "inner.md": "real.md", "dir": ".."} {
		if err := os.Symlink(to, filepath.Join(home, "project", link)); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	x, err := c.API.Expand(t.Context(), api.ExpandRequest{Command: "look"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range x.Prompt.Files {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "real.md inner.md ~/secret.txt ../secret.txt" {
		t.Errorf("attached: %s", got)
	}
}
