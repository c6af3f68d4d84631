package file

import (
	"testing"
)

// The footer of a directory says whether its count is complete.
func TestDirFooter(t *testing.T) {
	for want, got := range map[string]string{
		"(3 entries)": formatDirFooter(1, 3, 3, false),
		"(1 entry)":   formatDirFooter(1, 1, 1, false),
		"(Showing entries 1-2 of 3. Use offset=3 to continue.)": formatDirFooter(1, 2, 3, false),
		"(Showing entries 1-2 of more than 9. Use offset=3 to continue, or glob to find what you need.)": formatDirFooter(
			1, 2, 9, true,
		),
		"(The first 9 entries; there are more. Use glob to find what you need.)": formatDirFooter(8, 9, 9, true),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
