package config

import (
	"fmt"
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

// The index is on unless it is turned off, and bounded; a project's file changes neither.
func TestSearchSize(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{
		`true`: 1 << 30, `false`: 0, `5000000`: 5000000, `0`: -1, `-1`: -1, `"1GB"`: -1, `{}`: -1,
	} {
		p := newPlace(t, map[string]string{userFile: `{"storage": {"search": ` + value + `}}`})
		c := p.mustLoad()
		if want < 0 {
			if got := p.leftOut(c); !strings.Contains(got, "storage.search: want true, false, or a number of bytes") {
				t.Errorf("%s: %q", value, got)
			}
			want = 1 << 30
		}
		if got := c.Storage.Search.MaxBytes(); got != want {
			t.Errorf("%s is %d, want %d", value, got, want)
		}
	}
	p := newPlace(t, map[string]string{"repo/cairn.json": `{"storage": {"search": false}}`})
	if c := p.mustLoad(); c.Storage.Search != 0 {
		t.Error("a project's file turned the index off")
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"age": "90d"}`: "2160h0m0s 0 0", `{"age": "36h", "sessions": 7, "bytes": 9}`: "36h0m0s 7 9", `{}`: "0s 0 0",
		`{"age": "30m"}`: "error", `{"age": 90}`: "error", `{"age": "-5d"}`: "error", `{"age": "99999999d"}`: "error",
		`{"sessions": 0}`: "error",
	} {
		p := newPlace(t, map[string]string{userFile: `{"storage": {"retention": ` + value + `}}`})
		c := p.mustLoad()
		r := c.Storage.Retention.Policy()
		got := fmt.Sprint(r.Age, r.Sessions, r.Bytes)
		if p.leftOut(c) != "" {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
