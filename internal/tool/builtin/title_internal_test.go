package builtin

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Titles name what a call is about by its way from the top of the checkout; where there is none, from the root of the file
// system.
func TestTitlesBeginAtTheTop(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ worktree, name, want string }{
		{top, "a.txt", "sub/a.txt"},
		{top, top, ""},
		{top, filepath.Join(filepath.Dir(top), "o.txt"), "../o.txt"},
		{"/", "a.txt", filepath.Join(top, "sub/a.txt")[1:]},
		{"", "/etc/hosts", "etc/hosts"},
	} {
		s := &site{config: Config{Directory: filepath.Join(top, "sub"), Worktree: c.worktree}}
		p, err := s.locate(c.name)
		if err != nil || p.title() != c.want {
			t.Errorf("%s below %q is %q, %v, want %q", c.name, c.worktree, p.title(), err, c.want)
		}
	}
}

// Who is asked about directories outside sees them, and what would be allowed.
func TestAsksForDirectoriesOutside(t *testing.T) {
	asks := touched{outside: []string{"/o"}, read: []string{"/o/f"}}.requests("cat /o/f")
	var got []string
	for _, r := range asks {
		got = append(got, r.Action+" "+string(r.Metadata))
	}
	want := []string{`external_directory {"command":"cat /o/f","directories":["/o"],"patterns":["/o/*"]}`, `read {"command":"cat /o/f"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// A search is asked for as the model said it.
func TestSearchesAreAskedForAsSaid(t *testing.T) {
	for want, a := range map[string]searchAsk{
		`{"pattern":"x"}`: {action: "glob", Pattern: "x"},
		`{"pattern":"x","path":"s","include":"*.go"}`: {"grep", "x", "s", "*.go"},
	} {
		if got := string(object(a)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
