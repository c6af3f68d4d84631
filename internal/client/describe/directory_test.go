package describe_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/client/describe"
)

func TestFormatDirectory(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/src/repo":       ".",
		"/src/repo/lib":   "lib/",
		"/src":            "/src",
		"/src/other":      "/src/other",
		"/src/repo/..lib": "..lib/",
	} {
		if got := describe.FormatDirectory(dir, "/src/repo"); got != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
}
