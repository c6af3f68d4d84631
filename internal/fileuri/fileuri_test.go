package fileuri_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/fileuri"
)

func TestURIs(t *testing.T) {
	t.Parallel()
	for path, uri := range map[string]string{
		"/a/b.go": "file:///a/b.go", "/a b/ü#?%.go": "file:///a%20b/%C3%BC%23%3F%25.go",
	} {
		if got := fileuri.Format(path); got != uri {
			t.Errorf("%s: got %s, want %s", path, got, uri)
		}
		if got, ok := fileuri.Parse(uri); !ok || got != path {
			t.Errorf("%s: got %s", uri, got)
		}
	}
	for _, uri := range []string{"", "untitled:1", "file://", "https://a/b", "file:///%zz", "\x00"} {
		if path, ok := fileuri.Parse(uri); ok {
			t.Errorf("%q is the path %q", uri, path)
		}
	}
	if path, _ := fileuri.Parse("file:///a/%2e%2e/b"); path != "/b" {
		t.Errorf("path: %s", path)
	}
}
