package builtin

import "testing"

// A page of a directory says whether what it counts is all there is.
func TestDirFooter(t *testing.T) {
	for want, got := range map[string]string{
		"(3 entries)": dirFooter(1, 3, 3, false),
		"(1 entry)":   dirFooter(1, 1, 1, false),
		"(Showing entries 1-2 of 3. Use offset=3 to continue.)":                                          dirFooter(1, 2, 3, false),
		"(Showing entries 1-2 of more than 9. Use offset=3 to continue, or glob to find what you need.)": dirFooter(1, 2, 9, true),
		"(The first 9 entries; there are more. Use glob to find what you need.)":                         dirFooter(8, 9, 9, true),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
