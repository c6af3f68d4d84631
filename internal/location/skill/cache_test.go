package skill_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/skill"
)

// aged sets all file times below dir to long ago.
func aged(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every change in the skill folders is found by the next Find; unchanged folders are not searched again.
func TestCacheSeesEveryChange(t *testing.T) {
	change := map[string]func(top string) error{
		"edited": func(top string) error {
			return os.WriteFile(top+"/config/skills/a/SKILL.md", []byte(md("a", "New.")), 0o600)
		},
		"edited, as long": func(top string) error {
			return os.WriteFile(top+"/repo/.cairn/skills/b/SKILL.md", []byte(md("b", "b.")), 0o600)
		},
		"added": func(top string) error {
			return errors.Join(
				os.Mkdir(top+"/config/skills/n", 0o700),
				os.WriteFile(top+"/config/skills/n/SKILL.md", []byte(md("n", "N.")), 0o600),
			)
		},
		"added to a folder that was empty": func(top string) error {
			return os.WriteFile(top+"/config/skills/empty/SKILL.md", []byte(md("empty", "E.")), 0o600)
		},
		"added where there was no folder": func(top string) error {
			dir := top + "/repo/sub/.opencode/skills/n"
			return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(dir+"/SKILL.md", []byte(md("n", "N.")), 0o600))
		},
		"removed": func(top string) error { return os.RemoveAll(top + "/config/skills/a") },
		"renamed": func(top string) error { return os.Rename(top+"/config/skills/a", top+"/config/skills/z") },
		"link to another": func(top string) error {
			return errors.Join(os.Remove(top+"/config/skills/l"), os.Symlink(top+"/elsewhere/two", top+"/config/skills/l"))
		},
		"edited behind a link": func(top string) error {
			return os.WriteFile(top+"/elsewhere/one/SKILL.md", []byte(md("l", "New.")), 0o600)
		},
		"target of a link appears": func(top string) error {
			return errors.Join(
				os.Mkdir(top+"/elsewhere/later", 0o700),
				os.WriteFile(top+"/elsewhere/later/SKILL.md", []byte(md("d", "D.")), 0o600),
			)
		},
	}
	for name, change := range change {
		for _, old := range []bool{false, true} {
			o := world(t, map[string]string{
				"config/skills/a/SKILL.md":      md("a", "A."),
				"config/skills/empty/notes.md":  "Nothing yet.",
				"config/skills/l":               "-> TOP/elsewhere/one",
				"config/skills/d":               "-> TOP/elsewhere/later",
				"elsewhere/one/SKILL.md":        md("l", "One."),
				"elsewhere/two/SKILL.md":        md("l", "Two."),
				"repo/.cairn/skills/b/SKILL.md": md("b", "B."),
			})
			top := filepath.Dir(o.Home)
			if old {
				aged(t, top)
			}
			c := skill.NewCache(o)
			before := c.Find()
			if diff := cmp.Diff(o.Find().Skills, before.Skills, cmp.AllowUnexported(skill.Skill{})); diff != "" {
				t.Fatal(diff)
			}
			if err := change(top); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				now := c.Find()
				if diff := cmp.Diff(o.Find(), now, cmp.AllowUnexported(skill.Skill{})); diff != "" {
					t.Errorf("%s (old: %v):\n%s", name, old, diff)
				}
				if cmp.Equal(before, now, cmp.AllowUnexported(skill.Skill{})) {
					t.Errorf("%s changes nothing", name)
				}
			}
		}
	}
}

// A change without a trace in sizes and times is not found, which proves that the file was not read again.
func TestCacheReadsOnce(t *testing.T) {
	o := world(t, map[string]string{"config/skills/a/SKILL.md": md("a", "Old.")})
	aged(t, filepath.Dir(o.Home))
	c := skill.NewCache(o)
	c.Find()
	path := filepath.Join(o.Config, "skills/a/SKILL.md")
	if err := os.WriteFile(path, []byte(md("a", "New.")), 0o600); err != nil {
		t.Fatal(err)
	}
	aged(t, filepath.Dir(o.Home))
	if s, _ := c.Find().Get("a"); !strings.HasPrefix(s.Description, "Old") {
		t.Error("it was read again")
	}
}
