package jsontree

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What waits for a sync is each file that is as it was written, changed by this process or not, and the folders above
// each change.
func TestUnsynced(t *testing.T) {
	t.Parallel()
	tree, err := OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	expect := func(when string, files, folders []string) {
		t.Helper()
		gotFiles, gotFolders := tree.unsynced.take()
		got := [][]string{slices.Sorted(maps.Keys(gotFiles)), slices.Sorted(maps.Keys(gotFolders))}
		if diff := cmp.Diff([][]string{files, folders}, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	write := func(k Key) {
		t.Helper()
		if _, err := tree.Write(t.Context(), k, "x"); err != nil {
			t.Fatal(err)
		}
	}
	one, two := Key{"todo", "ses_a"}, Key{"part", "msg_a", "prt_a"}
	write(one)
	write(two)
	expect("new files", []string{"storage/part/msg_a/prt_a.json", "storage/todo/ses_a.json"},
		[]string{"storage", "storage/part", "storage/part/msg_a", "storage/todo"})
	expect("nothing", nil, nil)
	write(one)
	expect("an equal file", []string{"storage/todo/ses_a.json"}, []string{"storage", "storage/todo"})
	for range 2 { // the second time it is gone already
		if _, err := tree.Remove(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		expect("a removed file", nil, []string{"storage", "storage/todo"})
	}
}
