package modelfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFile: favourites and recent models are kept within their bounds; a damaged file has none.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "models.json")
	f := New(path)
	for i := range maxRecent + 5 {
		if _, err := f.NoteUse(t.Context(), fmt.Sprint("a/", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a/3", "a/5", "a/3", "a/14", strings.Repeat("x", maxName+1)} {
		if _, err := f.ToggleFavourite(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	l, err := f.NoteUse(t.Context(), "a/9")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, New(path).Load()); diff != "" {
		t.Errorf("the file has other lists: %s", diff)
	}
	want := Lists{
		Favourites: []string{"a/5", "a/14"},
		Recent:     []string{"a/9", "a/14", "a/13", "a/12", "a/11", "a/10", "a/8", "a/7", "a/6", "a/5"},
	}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Lists{}, New(path).Load()); diff != "" {
		t.Errorf("of a damaged file: %s", diff)
	}
}
