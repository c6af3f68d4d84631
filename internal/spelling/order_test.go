package spelling_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/spelling"
)

func TestOrderIsThatOfPeoplesLists(t *testing.T) {
	want := []string{
		"", "_x", "-x", ".git/", ".gitignore", "(x)", "@x", "0.txt", "10.txt", "9.txt", "a", "a_b", "a-b", "a.txt", "a/",
		"ab",
		"eclair", "éclair", "Éclair", "eclairs", "README.md", "readme.txt", "readme.TXT", "src/", "ü ñ.txt", "x/y", "żubr",
		"漢",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, spelling.Order)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
