package sandbox

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A kept ruleset is used again only if a new one would be the same.
func TestReadRulesets(t *testing.T) {
	for name, c := range map[string]struct {
		script string // beside the directories of the cell
		change func(c *cell)
		reused bool
	}{
		"nothing":                 {"", nil, true},
		"a file in a sibling":     {"touch outside/new", nil, true},
		"a file in the project":   {"touch work/new", nil, true},
		"a file in the secret":    {"touch secret/new", nil, true},
		"a written file":          {"echo x >file", nil, true},
		"a new sibling":           {"touch new", nil, false},
		"a removed sibling":       {"rm file", nil, false},
		"a renamed sibling":       {"mv outside other", nil, false},
		"a sibling in the secret": {"mv file secret/x", nil, false},
		"the mode above":          {"chmod 711 .", nil, false},
		"a replaced project":      {"mv work secret/was && mkdir secret/work && mv secret/work .", nil, false},
		"a replaced shown path":   {"mv secret/shown secret/was && mkdir secret/shown", nil, false},
		"a hidden link":           {"ln -sfn ../secret work/later", nil, false},
		"another shown path":      {"", func(c *cell) { c.policy.Show = []string{c.secret} }, false},
		"another hidden path":     {"", func(c *cell) { c.policy.Hide = []string{c.outside} }, false},
		"age":                     {"", func(c *cell) { c.rulesets.kept[0].made = time.Now().Add(-rulesetAge) }, false},
		"a change before it":      {"", func(c *cell) { c.rulesets.kept[0].made = time.Now() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t)
			cell.policy.Hide = append(cell.policy.Hide, filepath.Join(cell.work, "later"))
			runBeside(t, cell, "touch file && ln -s ../outside work/later")
			first := openRuleset(t, cell)
			first.made = first.made.Add(2 * settleTime) // as if nothing had changed before for long
			// Other processes change the directories above, such as the one for temporary files.
			top := filepath.Dir(cell.work)
			first.listed = slices.DeleteFunc(first.listed, func(p pathState) bool { return !strings.HasPrefix(p.path, top) })
			runBeside(t, cell, c.script)
			if c.change != nil {
				c.change(cell)
			}
			if reused := openRuleset(t, cell) == first; reused != c.reused {
				t.Errorf("reused: %v", reused)
			}
		})
	}
}

// runBeside runs a script above the directories of the cell.
func runBeside(t *testing.T, c *cell, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = filepath.Dir(c.work)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

// openRuleset returns the ruleset that is kept for the cell's policy.
func openRuleset(t *testing.T, c *cell) *keptRuleset {
	t.Helper()
	file, err := c.rulesets.Open(c.policy)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	return c.rulesets.kept[len(c.rulesets.kept)-1]
}

// Only some rulesets are kept, and none for long.
func TestKeptRulesets(t *testing.T) {
	c := newCell(t)
	for range 2 * maxKeptRulesets {
		c.policy.Show = append(c.policy.Show, c.shown)
		openRuleset(t, c).made = time.Now().Add(-rulesetAge)
	}
	if n := len(c.rulesets.kept); n != maxKeptRulesets {
		t.Errorf("%d are kept", n)
	}
	if c.rulesets.dropOld(); len(c.rulesets.kept) > 0 {
		t.Error("old ones are kept")
	}
}

// Files can be moved and linked between writable directories, also one below a hidden path, and nowhere else. The
// command cannot reach the kept ruleset.
func TestMoveBetweenDirectories(t *testing.T) {
	c := newCell(t)
	c.policy.Write = append(c.policy.Write, c.shown)
	got := c.run(t, `mkdir a b && mkdir a/sub && mv a/sub b && echo 1 >a/x && mv a/x b/x && ln b/x a/y
		mv a/y $SHOWN/y && mkdir $SHOWN/d && cat $SHOWN/y && ! ls -l /proc/$$/fd | grep landlock
		mv b/x $OUT; ln $OUT/file a/z; ls a b`)
	if !strings.HasPrefix(got, "1\n") || !strings.HasSuffix(got, "a:\n\nb:\nsub\nx\n") {
		t.Error(got)
	}
}
