package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// The mirror is a setting of the user's own, and names an absolute folder.
func TestMirrorFolder(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`true`: "home/.local/share/cairn/mirror/opencode", `false`: "", `"~/tree"`: "home/tree", `"/srv/tree"`: "/srv/tree",
		`"tree"`: "error", `""`: "error", `1`: "error", `{}`: "error", `"~/../x"`: "error",
	} {
		p := newPlace(t, map[string]string{userFile: `{"storage": {"mirror": ` + value + `}}`})
		c := p.mustLoad()
		if want == "error" {
			if got := p.leftOut(c); !strings.Contains(got, "storage.mirror: want true, false, or an absolute path") {
				t.Errorf("%s: %q", value, got)
			}
			want = ""
		}
		if want != "" && !filepath.IsAbs(want) {
			want = filepath.Join(p.root, want)
		}
		if got := c.Storage.Mirror.In(c.Dirs); got != want {
			t.Errorf("%s is %q, want %q", value, got, want)
		}
	}
	p := newPlace(t, map[string]string{"repo/cairn.json": `{"storage": {"mirror": "/srv/tree"}}`})
	if c := p.mustLoad(); c.Storage.Mirror != "" {
		t.Error("a project's file turned the mirror on")
	}
}
